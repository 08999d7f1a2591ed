import type { ChannelDto } from "../../schema/channels.ts";
import type { ChannelStatus, Platform } from "../../schema/enumerations.ts";
import { toTimestamp } from "../../schema/timestamps.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";

/** Optional fields, which have the same name in the response and in the row. */
const OPTIONAL_FIELDS = [
  "display_name",
  "waba_id",
  "phone_number_id",
  "display_phone_number",
  "page_id",
  "photoapp_user_id",
  "template_namespace",
  "external_ref",
] as const satisfies readonly (keyof ChannelDto & keyof ChannelRow)[];

type OptionalFields = Partial<Record<(typeof OPTIONAL_FIELDS)[number], string>>;

const definedFieldsOf = (row: ChannelRow): OptionalFields =>
  Object.fromEntries(OPTIONAL_FIELDS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]])));

/** Fields that do not apply are absent, never null. */
export const toChannel = (row: ChannelRow): ChannelDto => ({
  channel_id: row.id,
  platform: row.platform as Platform,
  status: row.status as ChannelStatus,
  ...definedFieldsOf(row),
  connected_at: toTimestamp(row.connected_at),
});
