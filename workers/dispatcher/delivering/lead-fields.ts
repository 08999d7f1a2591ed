import type { Pages } from "../../../src/platforms/pages/pages.ts";
import { withTimeout } from "../../../src/runtime/async/with-timeout.ts";
import { LEAD_FETCH_TIMEOUT_MS } from "../../../src/runtime/deadlines.ts";
import { JsonText, stringifyJson } from "../../../src/runtime/json/json.ts";
import { openJson } from "../../../src/runtime/json/json-source.ts";
import type { Log } from "../../../src/runtime/logging/log.ts";
import { openChannelToken } from "../../../src/security/channel-token.ts";
import type { SecretBox } from "../../../src/security/secret-box.ts";
import { findChannelToken } from "../../../src/store/channels/channels.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { ClaimedDelivery } from "../../../src/store/events/claim-deliveries.ts";
import { replacePayload } from "../../../src/store/events/events.ts";

interface LeadParts {
  db: Database;
  secretBox: SecretBox;
  pages: Pages;
  log: Log;
}

/**
 * A lead webhook does not contain the form's fields: fetches them before the first attempt and stores them, so that every
 * attempt has the same body. Returns the payload without the fields when that fails.
 */
export async function withLeadFields(parts: LeadParts, row: ClaimedDelivery): Promise<string> {
  if (row.type !== "lead.created" || row.attempts > 0) return row.payload;
  const { client_id: client, id, channel_id: channel } = row;
  try {
    const payload = await withTimeout(LEAD_FETCH_TIMEOUT_MS, fetchPayload(parts, row), () => undefined);
    if (payload === undefined) return row.payload;
    await replacePayload(parts.db, client, { id, payload });
    return payload;
  } catch (error) {
    parts.log.warn("lead.fetch_failed", { client, event_id: id, channel, err: error });
    return row.payload;
  }
}

/** Undefined when the fields are already present, or when the channel or its token is gone. */
async function fetchPayload(
  { db, secretBox, pages }: LeadParts,
  row: ClaimedDelivery,
): Promise<string | undefined> {
  const event = JSON.parse(row.payload);
  if (event.data?.fields !== undefined || row.channel_id === null) return undefined;
  const channel = await findChannelToken(db, row.client_id, row.channel_id);
  if (!channel?.page_id || !channel.token_sealed) return undefined;
  const token = openChannelToken(secretBox, row.channel_id, channel.token_sealed);
  const about = { client: row.client_id, event_id: row.id, channel: row.channel_id };
  const page = { pageId: channel.page_id, token, about };
  const { fields } = await pages.readLead(page, event.data.lead_id);
  const source = openJson(row.payload);
  const [data, raw] = [source.field("data"), source.field("raw")];
  return stringifyJson({
    ...event,
    data: new JsonText(`${data?.text.slice(0, -1)},"fields":${JSON.stringify(fields)}}`),
    ...(raw ? { raw: new JsonText(raw.text) } : {}),
  });
}
