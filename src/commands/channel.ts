import { type ChannelAsset, connectChannel } from "../domain/channels/channels.ts";
import type { Platform } from "../schema/enumerations.ts";
import { CommandError, UsageError, type Verb, verb } from "./command.ts";
import { clientNamed, operatorDeed } from "./operator.ts";
import { flag, OPTION, optional, required } from "./options.ts";

const IDS = {
  phoneNumberId: "--phone-number-id",
  wabaId: "--waba-id",
  photoappUserId: "--photoapp-user-id",
  pageId: "--page-id",
} as const;
type IdName = keyof typeof IDS;

/** Which ids name a channel of each platform, what it speaks for first. */
const NEEDED: Readonly<Record<Platform, readonly [IdName, ...IdName[]]>> = {
  chatapp: ["phoneNumberId", "wabaId"],
  photoapp: ["photoappUserId", "pageId"],
  socialapp: ["pageId"],
};

const platformId = (about: string) => optional({ ...OPTION.platformId, about });

export const CHANNEL_VERBS: readonly Verb[] = [
  verb({
    name: "channel add",
    summary: "Connect a channel, or give one a new token; the platform is not asked",
    options: {
      client: required(OPTION.client),
      platform: required(OPTION.platform),
      token: required(OPTION.token),
      phoneNumberId: platformId("chatapp: the number's id at the platform"),
      wabaId: platformId("chatapp: its business account"),
      pageId: platformId("socialapp, photoapp: the page"),
      photoappUserId: platformId("photoapp: the account"),
      name: optional(OPTION.name),
      externalRef: optional(OPTION.externalRef),
      takeOver: flag("disconnect it from another client that has it"),
    },
    async run({ client, platform, token, name: displayName, externalRef, takeOver, ...ids }, desk) {
      const asset = assetNamed(platform, ids);
      await clientNamed(desk, client);
      const wish = { asset, token, displayName, externalRef, takeOver };
      const { db, secretBox } = desk;
      const connection = await db.transaction((tx) =>
        connectChannel({ tx, secretBox }, operatorDeed(desk, client), wish),
      );
      if (connection.outcome === "taken") throw new CommandError(taken(platform, ids));
      return { channel_id: connection.row.id };
    },
  }),
];

type GivenIds = Record<IdName, string | undefined>;

/** Takes the ids that the platform needs, and no other. */
function assetNamed(platform: Platform, ids: GivenIds): ChannelAsset {
  const needed = NEEDED[platform];
  for (const name of Object.keys(IDS) as IdName[]) {
    const [isNeeded, isGiven] = [needed.includes(name), ids[name] !== undefined];
    if (isNeeded && !isGiven) throw new UsageError(`${IDS[name]} is required for ${platform}`);
    if (isGiven && !isNeeded) throw new UsageError(`${IDS[name]} does not belong to ${platform}`);
  }
  return { platform, ...Object.fromEntries(needed.map((name) => [name, ids[name]])) } as ChannelAsset;
}

const taken = (platform: Platform, ids: GivenIds) =>
  `another client has the ${platform} channel ${ids[NEEDED[platform][0]]}; add --take-over to disconnect it there`;
