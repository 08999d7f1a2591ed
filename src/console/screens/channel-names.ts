import { signal } from "@preact/signals";
import type { ChannelDto, ListChannelsPage } from "../../../sdk/src/generated/types.ts";
import { call } from "../app/api.ts";
import { shortId } from "../app/format.ts";
import { may, session } from "../app/session.ts";
import type { Option } from "../components/field.tsx";

/** The client's channels, at most a hundred; undefined until they are loaded. */
export const channels = signal<readonly ChannelDto[] | undefined>(undefined);

/** Loads the channels of the present client. Screens show ids until they are there, and go on without them. */
export async function loadChannels(): Promise<void> {
  channels.value = undefined; // another client may have been signed in before
  const present = session.value;
  if (!may("messages:send") && !may("webhooks:manage")) return;
  const page = await call<ListChannelsPage>("GET", "/api/channels", { query: { limit: 100 } }).catch(
    () => undefined,
  );
  if (page && session.value === present) channels.value = page.data;
}

const nameOf = ({ display_name, display_phone_number, channel_id }: ChannelDto): string =>
  display_name ?? display_phone_number ?? shortId(channel_id);

/** The name of a channel, with its platform where another one has the same name. */
export function channelName(id: string): string {
  const all = channels.value ?? [];
  const channel = all.find(({ channel_id }) => channel_id === id);
  if (!channel) return shortId(id);
  const isUnique = all.every((other) => other === channel || nameOf(other) !== nameOf(channel));
  return isUnique ? nameOf(channel) : `${nameOf(channel)} (${channel.platform})`;
}

export const channelOptions = (list: readonly ChannelDto[]): Option[] =>
  list.map((channel) => ({ value: channel.channel_id, label: `${nameOf(channel)} (${channel.platform})` }));
