import {
  type ChannelAsset,
  connectChannel,
  disconnectChannel,
  toChannel,
} from "../domain/channels/channels.ts";
import { CHANNEL_STATUSES, type Platform } from "../schema/enumerations.ts";
import { listChannelsOfAllClients } from "../store/channels/channel-owners.ts";
import { type ChannelFilters, findChannel, listChannels } from "../store/channels/channels.ts";
import { findOwner } from "../store/tenants/clients.ts";
import {
  type Command,
  type CommandContext,
  CommandError,
  confirmWithName,
  defineCommand,
  operatorActor,
  UsageError,
} from "./command-line/command.ts";
import { flag, OPTION, optional, parseOneOf, positional, required } from "./command-line/options.ts";
import { readAllPages, toColumns } from "./command-line/output.ts";
import { requireClient } from "./command-line/require-client.ts";

const ID_FLAGS = {
  phoneNumberId: "--phone-number-id",
  wabaId: "--waba-id",
  photoappUserId: "--photoapp-user-id",
  pageId: "--page-id",
} as const;
type IdName = keyof typeof ID_FLAGS;

/** The ids that a channel of each platform requires, its own asset first. */
const REQUIRED_IDS: Readonly<Record<Platform, readonly [IdName, ...IdName[]]>> = {
  chatapp: ["phoneNumberId", "wabaId"],
  photoapp: ["photoappUserId", "pageId"],
  socialapp: ["pageId"],
};

const platformId = (about: string) => optional({ ...OPTION.platformId, about });

export const CHANNEL_COMMANDS: readonly Command[] = [
  defineCommand({
    name: "channel add",
    summary: "Connect a channel or replace its token, without calling the platform",
    options: {
      client: required(OPTION.client),
      platform: required(OPTION.platform),
      token: required(OPTION.token),
      phoneNumberId: platformId("chatapp: id of the phone number at the platform"),
      wabaId: platformId("chatapp: id of the number's business account"),
      pageId: platformId("socialapp and photoapp: id of the page"),
      photoappUserId: platformId("photoapp: id of the photo account"),
      name: optional(OPTION.name),
      externalRef: optional(OPTION.externalRef),
      takeOver: flag("disconnect the channel from another client that has it"),
    },
    async run({ client, platform, token, name: displayName, externalRef, takeOver, ...ids }, context) {
      const asset = toAsset(platform, ids);
      await requireClient(context, client);
      const input = { asset, token, displayName, externalRef, takeOver };
      const connection = await connectChannel(context, operatorActor(context, client), input);
      if (connection.outcome === "taken") throw new CommandError(takenMessage(platform, ids));
      return { channel_id: connection.row.id };
    },
  }),
  defineCommand({
    name: "channel list",
    summary: "List the channels of a client or of all clients, including disconnected ones, newest first",
    options: {
      client: optional({ ...OPTION.client, about: "the client's id (default: all clients)" }),
      platform: optional(OPTION.platform),
      status: optional({
        placeholder: "STATUS",
        about: `${CHANNEL_STATUSES.join(", ")} (default: all)`,
        parse: parseOneOf(CHANNEL_STATUSES),
      }),
    },
    async run({ client, ...filters }, context) {
      if (client === undefined) return { data: await listOfAllClients(context, filters) };
      await requireClient(context, client);
      const rows = await readAllPages((page) => listChannels(context.db, client, { page, ...filters }));
      return { data: rows.map(toChannel) };
    },
    show: ({ data }) =>
      toColumns(data, data.some((row) => "client_id" in row) ? ["client_id", ...SHOWN_FIELDS] : SHOWN_FIELDS),
  }),
  defineCommand({
    name: "channel disconnect",
    summary: "Disconnect a channel of any client: its token is erased, and its queued messages fail",
    options: { id: positional(OPTION.channel), yes: flag("do not ask for confirmation") },
    async run({ id, yes }, context) {
      const clientId = await findOwner(context.db, "channels", id);
      if (clientId === undefined) throw new CommandError(`there is no channel ${id}`);
      const { name } = await requireClient(context, clientId);
      if (!yes)
        await confirmWithName(context, name, {
          warning: `This disconnects the channel ${id} of "${name}"; its queued messages fail.`,
          refusal: "nothing was changed",
        });
      await disconnectChannel(context.db, operatorActor(context, clientId), id);
      const row = await findChannel(context.db, clientId, id);
      if (!row) throw new CommandError(`there is no channel ${id}`); // the client was deleted meanwhile
      return { client_id: clientId, ...toChannel(row) };
    },
  }),
];

const SHOWN_FIELDS = [
  "channel_id",
  "platform",
  "status",
  "display_name",
  "phone_number_id",
  "page_id",
  "photoapp_user_id",
  "external_ref",
  "connected_at",
] as const;

async function listOfAllClients({ db }: CommandContext, filters: ChannelFilters) {
  const rows = await readAllPages((page) => listChannelsOfAllClients(db, { page, ...filters }));
  return rows.map((row) => ({ client_id: row.client_id, ...toChannel(row) }));
}

type ChannelIds = Record<IdName, string | undefined>;

/** Requires the ids of the platform and rejects all others. */
function toAsset(platform: Platform, ids: ChannelIds): ChannelAsset {
  const requiredIds = REQUIRED_IDS[platform];
  for (const name of Object.keys(ID_FLAGS) as IdName[]) {
    const [isRequired, isGiven] = [requiredIds.includes(name), ids[name] !== undefined];
    if (isRequired && !isGiven) throw new UsageError(`${ID_FLAGS[name]} is required for ${platform}`);
    if (isGiven && !isRequired) throw new UsageError(`${ID_FLAGS[name]} is not used for ${platform}`);
  }
  return { platform, ...Object.fromEntries(requiredIds.map((name) => [name, ids[name]])) } as ChannelAsset;
}

const takenMessage = (platform: Platform, ids: ChannelIds) =>
  `another client has connected the ${platform} channel ${ids[REQUIRED_IDS[platform][0]]}; add --take-over to disconnect it there`;
