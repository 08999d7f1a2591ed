import { createClient } from "./client.ts";
import { Events } from "./events.ts";
import * as operations from "./generated/operations.ts";
import { Insights } from "./insights.ts";
import { Batches, Messages } from "./messages.ts";
import type { HeraldOptions } from "./options.ts";

/**
 * A client of the Herald API, with one namespace for each part of the API. All of its methods may be called at once.
 *
 * ```js
 * const herald = new Herald({ baseUrl: "https://herald.example.com", apiKey });
 * const { message_id } = await herald.messages.send({ channel_id, to, type: "text", text: { body: "Hello" } });
 * await herald.messages.waitUntil(message_id, "delivered");
 * ```
 */
export class Herald {
  readonly auth: operations.AuthOperations;
  readonly setup: operations.SetupOperations;
  readonly keys: operations.KeysOperations;
  readonly users: operations.UsersOperations;
  readonly channels: operations.ChannelsOperations;
  readonly embedSessions: operations.EmbedSessionsOperations;
  readonly messages: Messages;
  readonly batches: Batches;
  readonly templates: operations.TemplatesOperations;
  readonly webhooks: operations.WebhooksOperations;
  readonly events: Events;
  readonly stats: operations.StatsOperations;
  readonly terms: operations.TermsOperations;
  readonly adAccounts: operations.AdAccountsOperations;
  readonly campaigns: operations.CampaignsOperations;
  readonly adSets: operations.AdSetsOperations;
  readonly ads: operations.AdsOperations;
  readonly creatives: operations.CreativesOperations;
  readonly media: operations.MediaOperations;
  readonly insights: Insights;
  readonly enums: operations.EnumsOperations;
  readonly audit: operations.AuditOperations;
  readonly service: operations.ServiceOperations;

  constructor(options: HeraldOptions) {
    const client = createClient(options);
    this.auth = new operations.AuthOperations(client);
    this.setup = new operations.SetupOperations(client);
    this.keys = new operations.KeysOperations(client);
    this.users = new operations.UsersOperations(client);
    this.channels = new operations.ChannelsOperations(client);
    this.embedSessions = new operations.EmbedSessionsOperations(client);
    this.messages = new Messages(client);
    this.batches = new Batches(client);
    this.templates = new operations.TemplatesOperations(client);
    this.webhooks = new operations.WebhooksOperations(client);
    this.events = new Events(client);
    this.stats = new operations.StatsOperations(client);
    this.terms = new operations.TermsOperations(client);
    this.adAccounts = new operations.AdAccountsOperations(client);
    this.campaigns = new operations.CampaignsOperations(client);
    this.adSets = new operations.AdSetsOperations(client);
    this.ads = new operations.AdsOperations(client);
    this.creatives = new operations.CreativesOperations(client);
    this.media = new operations.MediaOperations(client);
    this.insights = new Insights(client);
    this.enums = new operations.EnumsOperations(client);
    this.audit = new operations.AuditOperations(client);
    this.service = new operations.ServiceOperations(client);
  }
}
