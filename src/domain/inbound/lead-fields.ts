import type { Lead, Pages } from "../../platforms/pages/pages.ts";
import type { Reading } from "../../platforms/webhooks/updates.ts";
import { createShares } from "../../runtime/async/shares.ts";
import { withTimeout } from "../../runtime/async/timeouts-and-retries.ts";
import { LEAD_FETCH_TIMEOUT_MS } from "../../runtime/deadlines.ts";
import { isPlatformId } from "../../runtime/ids.ts";
import { JsonText, stringifyJson } from "../../runtime/json/json.ts";
import type { Log } from "../../runtime/log.ts";
import { openChannelToken } from "../../security/sealed-tokens.ts";
import type { SecretBox } from "../../security/secret-box.ts";
import { findChannelToken } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";
import { DatabaseUnavailable } from "../../store/database/faults.ts";
import { isRecorded } from "../events/record-events.ts";
import { findOwners } from "./owners.ts";
import type { IncomingWebhook } from "./webhook-intake.ts";

interface LeadParts {
  db: Database;
  secretBox: SecretBox;
  pages: Pick<Pages, "readLead">;
  log: Log;
}

/** Leads of a webhook whose fields are fetched; further ones are recorded without fields. */
const MAX_FETCHED_LEADS = 20;
/** Concurrent fetches of one client, and of this process: a page with many leads must not take all of them. */
const MAX_CLIENT_FETCHES = 4;
const MAX_FETCHES = 20;
/** With more waiting leads of a client, a lead is recorded without fields at once. */
const MAX_WAITING_LEADS = 200;

/** A lead, and the channel of its page. */
interface OwnedLead {
  lead: Reading;
  clientId: string;
  channelId: string;
}

/**
 * Returns a function that adds the fields of its leads to a webhook: the platform sends only their ids. An event never changes
 * once it is recorded, so fields that do not come in time are left out.
 */
export function createLeadFetcher(parts: LeadParts, timeoutMs: number = LEAD_FETCH_TIMEOUT_MS) {
  const { db, log } = parts;
  const fetches = createShares({
    capacity: MAX_FETCHES,
    share: MAX_CLIENT_FETCHES,
    maxWaitingPerKey: MAX_WAITING_LEADS,
    maxWaitMs: timeoutMs,
  });

  /** Undefined when the lead is recorded without fields. A fetch that goes on after the time limit keeps its place. */
  async function fetchInTime(owned: OwnedLead): Promise<Lead["fields"] | undefined> {
    const { clientId: client, channelId: channel, lead } = owned;
    try {
      return await withTimeout(
        timeoutMs,
        fetches.run(client, 1, () => fetchFields(parts, owned)),
        () => {
          throw new Error(`the fields of the lead were not fetched within ${timeoutMs} ms`);
        },
      );
    } catch (error) {
      // Nothing is recorded yet: the platform repeats the webhook.
      if (error instanceof DatabaseUnavailable) throw error;
      log.warn("lead.fetch_failed", { client, channel, lead_id: leadIdOf(lead), err: error });
      return undefined;
    }
  }

  return async (webhook: IncomingWebhook): Promise<IncomingWebhook> => {
    const leads = webhook.updates.filter(isFetchable).slice(0, MAX_FETCHED_LEADS);
    const ownersOf = await findOwners(db, leads);
    const completed = new Map<Reading, Reading>();
    const complete = async (lead: Reading): Promise<void> => {
      const { clientId, channelId } = ownersOf(lead.asset)[0] ?? {};
      if (clientId === undefined || channelId === undefined) return;
      const fields = await fetchInTime({ lead, clientId, channelId });
      if (fields) completed.set(lead, withFields(lead, fields));
    };
    await Promise.all(leads.map(complete));
    return withReadings(webhook, completed);
  };
}

const leadIdOf = ({ fields }: Reading): string => String(fields.lead_id);

const isFetchable = (reading: Reading | undefined): reading is Reading =>
  reading?.type === "lead.created" && isPlatformId(leadIdOf(reading));

/** Undefined when the event is already recorded, or when the channel has no token. */
async function fetchFields(
  { db, secretBox, pages }: LeadParts,
  { lead, clientId, channelId }: OwnedLead,
): Promise<Lead["fields"] | undefined> {
  if (await isRecorded(db, clientId, lead.dedupKey)) return undefined;
  const channel = await findChannelToken(db, clientId, channelId);
  if (!channel?.page_id || !channel.token_sealed) return undefined;
  const token = openChannelToken(secretBox, channelId, channel.token_sealed);
  const page = { pageId: channel.page_id, token, about: { client: clientId, channel: channelId } };
  return (await pages.readLead(page, leadIdOf(lead))).fields;
}

function withFields(lead: Reading, leadFields: Lead["fields"]): Reading {
  const fields = { ...lead.fields, fields: leadFields };
  return { ...lead, fields, data: new JsonText(stringifyJson(fields)) };
}

/** The fields count in the size of the webhook: it must not make its group too large. */
function withReadings(
  { updates, bytes }: IncomingWebhook,
  completed: ReadonlyMap<Reading, Reading>,
): IncomingWebhook {
  let added = 0;
  for (const [lead, { data }] of completed) added += data.text.length - lead.data.text.length;
  return {
    updates: updates.map((reading) => (reading && completed.get(reading)) ?? reading),
    bytes: bytes + added,
  };
}
