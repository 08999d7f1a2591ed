// Generated from the API's OpenAPI document by `npm run sdk`: do not edit.

import { path, Resource } from "../client.ts";
import type { List } from "../list.ts";
import type { FileContent, FileOptions, KeyedOptions, RequestOptions } from "../options.ts";
import type {
  AcceptTermsDto,
  AcceptedBatchDto,
  AdAccountDto,
  AdDto,
  AdSetDto,
  ApiKeyDto,
  AuditEntryDto,
  BatchDto,
  CampaignDto,
  ChangePasswordDto,
  ChannelDto,
  CreateAdDto,
  CreateAdSetDto,
  CreateApiKeyDto,
  CreateCampaignDto,
  CreateCreativeDto,
  CreateEmbedSessionDto,
  CreateInsightsReportDto,
  CreateUserDto,
  CreatedApiKeyDto,
  CreatedEmbedSessionDto,
  CreatedUserDto,
  CreativeDto,
  DeleteTemplateDto,
  DeleteTemplateResponseDto,
  EmbedSessionDto,
  EnumsDto,
  EventDetailDto,
  EventDto,
  EventStatsDto,
  ExchangeOAuthCodeBody,
  ExchangeOAuthCodeReply,
  FailuresDto,
  GenerateSecretDto,
  GeneratedSecretDto,
  GetAdQuery,
  GetAdSetQuery,
  GetApiDescriptionReply,
  GetCampaignQuery,
  GetCreativeQuery,
  GetEventStatsQuery,
  GetFailuresQuery,
  GetHealthReply,
  GetInsightsPage,
  GetInsightsQuery,
  GetInsightsReportQuery,
  GetInsightsReportResultsPage,
  GetInsightsReportResultsQuery,
  GetInsightsSummaryQuery,
  GetMessageStatsQuery,
  GetOAuthUrlQuery,
  GetReadinessReply,
  GetVideoQuery,
  InsightsReportRunDto,
  InsightsRow,
  InsightsSummaryDto,
  ListAdAccountsPage,
  ListAdAccountsQuery,
  ListAdSetsPage,
  ListAdSetsQuery,
  ListAdsPage,
  ListAdsQuery,
  ListApiKeysPage,
  ListApiKeysQuery,
  ListAuditEntriesPage,
  ListAuditEntriesQuery,
  ListBatchesPage,
  ListBatchesQuery,
  ListCampaignsPage,
  ListCampaignsQuery,
  ListChannelsPage,
  ListChannelsQuery,
  ListCreativesPage,
  ListCreativesQuery,
  ListEmbedSessionsPage,
  ListEmbedSessionsQuery,
  ListEventsPage,
  ListEventsQuery,
  ListMessagesPage,
  ListMessagesQuery,
  ListTemplatesDto,
  ListTemplatesPage,
  ListUserSessionsPage,
  ListUserSessionsQuery,
  ListUsersPage,
  ListUsersQuery,
  LoginDto,
  MarkMessageReadBody,
  MarketingTermsStatusDto,
  MarketingTermsTextDto,
  MeDto,
  MediaUploadDto,
  MessageDetailDto,
  MessageDto,
  MessageExplanationDto,
  MessageStatsDto,
  MessageTimelineDto,
  OauthUrlResponseDto,
  QueueStatsDto,
  RetriedEventsDto,
  RetryEventReply,
  RetryEventsDto,
  RotateApiKeyDto,
  SendBatchDto,
  SendMessageDto,
  SendMessageResponseDto,
  SendTestEventReply,
  SessionDto,
  SetupDto,
  StreamEventsQuery,
  StreamPageDto,
  SubmitTemplateDto,
  SubmitTemplateResponseDto,
  SwitchDispatchDto,
  TemplateDto,
  TestWebhookDto,
  UpdateAdAccountBody,
  UpdateAdDto,
  UpdateAdSetDto,
  UpdateCampaignDto,
  UpdateUserDto,
  UpdateWebhookConfigDto,
  UploadImageDto,
  UploadVideoDto,
  UploadedImageDto,
  UploadedVideoDto,
  UserDto,
  UserSessionDto,
  VideoDto,
  WebhookConfigResponseDto,
} from "./types.ts";

/** Sign in and out, and read what a credential may do. */
export class AuthOperations extends Resource {
  /**
   * Sign in with email and password.
   *
   * Starts a session and returns its user token, which is valid for 12 hours, and sets the console's cookie. To use the token on this page, paste it into Authorize. After too many failed attempts the response is 429: 10 in a minute from one IP address (IPv6: one /64) for one email, 100 in a minute from one IP address, or 100 in an hour for one email. An address from which the email has signed in within the last 30 days is exempt from the last two limits.
   *
   * `POST /api/auth/login`
   */
  login(body: LoginDto, options?: RequestOptions): Promise<SessionDto> {
    return this.client.json<SessionDto>({ operation: "loginUser", method: "POST", path: "/api/auth/login", retries: "repeatable", body, options });
  }

  /**
   * Sign out.
   *
   * Ends the session of the user token in the Authorization header or in the console's cookie, and clears the cookie. The token is rejected from then on: at once by the process that answers, within 5 seconds by every other.
   *
   * `POST /api/auth/logout`
   */
  logout(options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "logoutUser", method: "POST", path: "/api/auth/logout", retries: "repeatable", options });
  }

  /**
   * Read the caller's client, role and scopes.
   *
   * Any valid credential is accepted.
   *
   * `GET /api/auth/me`
   */
  me(options?: RequestOptions): Promise<MeDto> {
    return this.client.json<MeDto>({ operation: "getCaller", method: "GET", path: "/api/auth/me", retries: "repeatable", options });
  }

  /**
   * List your own sessions.
   *
   * Lists the sessions that have neither ended nor expired. Users of an identity provider have none here and get 404.
   *
   * Requires a user (user token or console); API keys are rejected.
   *
   * `GET /api/auth/sessions`
   */
  listSessions(query?: ListUserSessionsQuery, options?: RequestOptions): List<UserSessionDto, ListUserSessionsPage> {
    return this.client.list<UserSessionDto, ListUserSessionsPage>("query", { operation: "listUserSessions", method: "GET", path: "/api/auth/sessions", retries: "repeatable", query, options });
  }

  /**
   * End one of your own sessions.
   *
   * The session's token is rejected from then on: at once by the process that answers, within 5 seconds by every other.
   *
   * Requires a user (user token or console); API keys are rejected.
   *
   * `DELETE /api/auth/sessions/{id}`
   */
  deleteSession(id: string, options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "deleteUserSession", method: "DELETE", path: path`/api/auth/sessions/${id}`, retries: "single", options });
  }
}

/** Which steps of the setup your client has completed, and what to do next. */
export class SetupOperations extends Resource {
  /**
   * Read which steps of the setup are done and what to do next.
   *
   * The checklist of a new client. It is made from what Herald has stored, as long as it is kept; neither your backend nor a platform is called.
   *
   * Any valid credential is accepted.
   *
   * `GET /api/setup`
   */
  get(options?: RequestOptions): Promise<SetupDto> {
    return this.client.json<SetupDto>({ operation: "getSetup", method: "GET", path: "/api/setup", retries: "repeatable", options });
  }
}

/** Keys for your backends. Owners and admins create, rotate and revoke them. */
export class KeysOperations extends Resource {
  /**
   * Create an API key.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `POST /api/keys`
   */
  create(body: CreateApiKeyDto, options?: RequestOptions): Promise<CreatedApiKeyDto> {
    return this.client.json<CreatedApiKeyDto>({ operation: "createApiKey", method: "POST", path: "/api/keys", retries: "single", body, options });
  }

  /**
   * List API keys, including revoked and expired ones.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `GET /api/keys`
   */
  list(query?: ListApiKeysQuery, options?: RequestOptions): List<ApiKeyDto, ListApiKeysPage> {
    return this.client.list<ApiKeyDto, ListApiKeysPage>("query", { operation: "listApiKeys", method: "GET", path: "/api/keys", retries: "repeatable", query, options });
  }

  /**
   * Revoke an API key.
   *
   * Takes effect at once in the process that answers, and within 5 seconds in every other. Revoking a key twice changes nothing.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `DELETE /api/keys/{id}`
   */
  revoke(id: string, options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "revokeApiKey", method: "DELETE", path: path`/api/keys/${id}`, retries: "repeatable", options });
  }

  /**
   * Replace an API key with a new one.
   *
   * The new key has the name, scopes and expiry of the old one. The old key keeps working for `grace_minutes`.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `POST /api/keys/{id}/rotate`
   */
  rotate(id: string, body: RotateApiKeyDto = {}, options?: RequestOptions): Promise<CreatedApiKeyDto> {
    return this.client.json<CreatedApiKeyDto>({ operation: "rotateApiKey", method: "POST", path: path`/api/keys/${id}/rotate`, retries: "single", body, options });
  }
}

/** The people of your client who sign in to the console. */
export class UsersOperations extends Resource {
  /**
   * List users.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `GET /api/users`
   */
  list(query?: ListUsersQuery, options?: RequestOptions): List<UserDto, ListUsersPage> {
    return this.client.list<UserDto, ListUsersPage>("query", { operation: "listUsers", method: "GET", path: "/api/users", retries: "repeatable", query, options });
  }

  /**
   * Create a user.
   *
   * Without `password`, one is generated and returned in this response only. Only an owner can create an owner.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `POST /api/users`
   */
  create(body: CreateUserDto, options?: RequestOptions): Promise<CreatedUserDto> {
    return this.client.json<CreatedUserDto>({ operation: "createUser", method: "POST", path: "/api/users", retries: "single", body, options });
  }

  /**
   * Change a user's name or role, or disable the user.
   *
   * Takes effect in every process within 5 seconds. Disabling a user ends its sessions for good. Only an owner can change an owner. The last enabled owner cannot be disabled or given another role.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `PATCH /api/users/{id}`
   */
  update(id: string, body: UpdateUserDto = {}, options?: RequestOptions): Promise<UserDto> {
    return this.client.json<UserDto>({ operation: "updateUser", method: "PATCH", path: path`/api/users/${id}`, retries: "single", body, options });
  }

  /**
   * Change a password.
   *
   * Users change their own password with `old_password`; owners can change any user's password. It ends all sessions of the user: tokens that were issued before are rejected from then on, including the caller's own. Sign in again.
   *
   * Requires a user (user token or console); API keys are rejected.
   *
   * `POST /api/users/{id}/password`
   */
  changePassword(id: string, body: ChangePasswordDto, options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "changeUserPassword", method: "POST", path: path`/api/users/${id}/password`, retries: "single", body, options });
  }
}

/** The phone numbers, pages and photo accounts through which your client exchanges messages. */
export class ChannelsOperations extends Resource {
  /**
   * List channels, including disconnected ones, newest first.
   *
   * Requires the scope `templates:manage` or `messages:send` or `webhooks:manage`.
   *
   * `GET /api/channels`
   */
  list(query?: ListChannelsQuery, options?: RequestOptions): List<ChannelDto, ListChannelsPage> {
    return this.client.list<ChannelDto, ListChannelsPage>("query", { operation: "listChannels", method: "GET", path: "/api/channels", retries: "repeatable", query, options });
  }

  /**
   * Read a channel.
   *
   * Requires the scope `templates:manage` or `messages:send` or `webhooks:manage`.
   *
   * `GET /api/channels/{channel_id}`
   */
  get(channelId: string, options?: RequestOptions): Promise<ChannelDto> {
    return this.client.json<ChannelDto>({ operation: "getChannel", method: "GET", path: path`/api/channels/${channelId}`, retries: "repeatable", options });
  }

  /**
   * Disconnect a channel.
   *
   * Erases the channel's token and sends `channel.disconnected` with the reason `requested`. Queued messages of the channel fail. The channel and its history stay readable.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `DELETE /api/channels/{channel_id}`
   */
  disconnect(channelId: string, options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "disconnectChannel", method: "DELETE", path: path`/api/channels/${channelId}`, retries: "single", options });
  }

  /**
   * Mark a received message as read.
   *
   * With `typing` the person also sees a typing indicator, until you send a message or a short time has passed. Only for chatapp channels.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/channels/{channel_id}/read`
   */
  markRead(channelId: string, body: MarkMessageReadBody, options?: RequestOptions): Promise<void> {
    return this.client.empty({ operation: "markMessageRead", method: "POST", path: path`/api/channels/${channelId}/read`, retries: "single", body, options });
  }

  /**
   * Download a received file.
   *
   * Streams the file from the platform, with the Content-Type it has there. If the transfer fails midway, the connection is closed early. The platform keeps received files for 7 days. Only for chatapp channels.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/channels/{channel_id}/media/{media_id}`
   */
  downloadMedia(channelId: string, mediaId: string, options?: RequestOptions): Promise<Response> {
    return this.client.open({ accept: "*/*" }, { operation: "downloadMedia", method: "GET", path: path`/api/channels/${channelId}/media/${mediaId}`, retries: "repeatable", options });
  }

  /**
   * Upload a file to send in messages.
   *
   * The body is the file, and the Content-Type is its type. The file is streamed to the platform, which decides which types and sizes it accepts. Only for chatapp channels.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/channels/{channel_id}/media`
   */
  uploadMedia(channelId: string, file: FileContent, options?: FileOptions): Promise<MediaUploadDto> {
    return this.client.json<MediaUploadDto>({ operation: "uploadMedia", method: "POST", path: path`/api/channels/${channelId}/media`, retries: "single", file, options });
  }
}

/** One-use pages on which your customers connect their own channels to your client. */
export class EmbedSessionsOperations extends Resource {
  /**
   * Create an embedded signup session.
   *
   * Embed `url` in an iframe: an end customer connects one channel there, with at most 50 tries. The URL contains the session's token and is shown only in this response. The event `channel.connected` and `GET /api/embed/sessions/{sessionId}` report the result, both with your `external_ref`.
   *
   * Each field of the body has at most 16 KiB of JSON; a larger one is 400.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/embed/sessions`
   */
  create(body: CreateEmbedSessionDto, options?: KeyedOptions): Promise<CreatedEmbedSessionDto> {
    return this.client.json<CreatedEmbedSessionDto>({ operation: "createEmbedSession", method: "POST", path: "/api/embed/sessions", retries: "keyed", body, options });
  }

  /**
   * List embedded signup sessions, newest first.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/embed/sessions`
   */
  list(query?: ListEmbedSessionsQuery, options?: RequestOptions): List<EmbedSessionDto, ListEmbedSessionsPage> {
    return this.client.list<EmbedSessionDto, ListEmbedSessionsPage>("query", { operation: "listEmbedSessions", method: "GET", path: "/api/embed/sessions", retries: "repeatable", query, options });
  }

  /**
   * Read an embedded signup session and its result.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/embed/sessions/{sessionId}`
   */
  get(sessionId: string, options?: RequestOptions): Promise<EmbedSessionDto> {
    return this.client.json<EmbedSessionDto>({ operation: "getEmbedSession", method: "GET", path: path`/api/embed/sessions/${sessionId}`, retries: "repeatable", options });
  }

  /**
   * Revoke an embedded signup session.
   *
   * The URL stops working at once, also for a person who is connecting a channel at the moment. Revoking a session twice changes nothing.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/embed/sessions/{sessionId}/revoke`
   */
  revoke(sessionId: string, options?: RequestOptions): Promise<EmbedSessionDto> {
    return this.client.json<EmbedSessionDto>({ operation: "revokeEmbedSession", method: "POST", path: path`/api/embed/sessions/${sessionId}/revoke`, retries: "repeatable", options });
  }
}

/** Send messages and follow their status. */
export class MessagesOperations extends Resource {
  /**
   * Send a message.
   *
   * Queues the message and sends it as soon as the platform accepts it. The message fails if that takes more than 24 hours. The events `message.send_result` and `message.status` report the outcome, which can also be read with `GET /api/outbound/messages/{message_id}`. With `send_at` it is `scheduled` until then, and the 24 hours begin then. Messages to one person are sent in the order in which they were accepted, or in which their times have come. The content has at most 256 KiB.
   *
   * Each field of the body has at most 256 KiB of JSON; a larger one is 400.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/outbound/send`
   */
  send(body: SendMessageDto, options?: KeyedOptions): Promise<SendMessageResponseDto> {
    return this.client.json<SendMessageResponseDto>({ operation: "sendMessage", method: "POST", path: "/api/outbound/send", retries: "keyed", body, options });
  }

  /**
   * List outbound messages, newest first.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/messages`
   */
  list(query?: ListMessagesQuery, options?: RequestOptions): List<MessageDto, ListMessagesPage> {
    return this.client.list<MessageDto, ListMessagesPage>("query", { operation: "listMessages", method: "GET", path: "/api/outbound/messages", retries: "repeatable", query, options });
  }

  /**
   * Read a message, its status and its content.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/messages/{message_id}`
   */
  get(messageId: string, options?: RequestOptions): Promise<MessageDetailDto> {
    return this.client.json<MessageDetailDto>({ operation: "getMessage", method: "GET", path: path`/api/outbound/messages/${messageId}`, retries: "repeatable", options });
  }

  /**
   * Cancel a message.
   *
   * Cancels a message that is scheduled, queued, or waits for another try. The status `cancelled` is final, and one event `message.status` reports it. A message that is being sent at this moment, or was sent, cannot be cancelled. Cancelling twice is no error.
   *
   * Requires the scope `messages:send`.
   *
   * `DELETE /api/outbound/messages/{message_id}`
   */
  cancel(messageId: string, options?: RequestOptions): Promise<MessageDto> {
    return this.client.json<MessageDto>({ operation: "cancelMessage", method: "DELETE", path: path`/api/outbound/messages/${messageId}`, retries: "repeatable", options });
  }

  /**
   * Read why a message is as it is, and what to do.
   *
   * One cause, with a sentence for people, who can change it and how. A message that the platform has takes the reason of its undelivered events. The guide on errors lists all causes.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/messages/{message_id}/explanation`
   */
  explain(messageId: string, options?: RequestOptions): Promise<MessageExplanationDto> {
    return this.client.json<MessageExplanationDto>({ operation: "getMessageExplanation", method: "GET", path: path`/api/outbound/messages/${messageId}/explanation`, retries: "repeatable", options });
  }

  /**
   * Read what happened to a message, oldest first.
   *
   * The acceptance, the attempts at the platform, the statuses, the events about the message and the attempts to deliver them. The time of an event is when it was recorded. The time of a status may be the platform's, but is not before that of the status before it. The response has at most 1000 entries: later attempts to deliver are left out, and `GET /api/webhooks/events/{id}` has them. Events are kept for a shorter time than messages.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/messages/{message_id}/timeline`
   */
  timeline(messageId: string, options?: RequestOptions): Promise<MessageTimelineDto> {
    return this.client.json<MessageTimelineDto>({ operation: "getMessageTimeline", method: "GET", path: path`/api/outbound/messages/${messageId}/timeline`, retries: "repeatable", options });
  }
}

/** Send a message to many people, at a time and pace of your choice. */
export class BatchesOperations extends Resource {
  /**
   * Send a message to many people.
   *
   * Queues up to 1000 messages with common content. Fields of a message replace those of the common content: `components` of a template, `body` of a text. Valid messages are accepted together; `rejected` lists the others. If none is valid, the answer is 400 and nothing is accepted. A batch never delays single messages of its channel. It pauses by itself when its channel is not connected, its template is stopped, or most of its messages fail with the same error. A client has at most 100 unfinished batches. The body has at most 4 MiB.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/outbound/batches`
   */
  send(body: SendBatchDto, options?: KeyedOptions): Promise<AcceptedBatchDto> {
    return this.client.json<AcceptedBatchDto>({ operation: "sendBatch", method: "POST", path: "/api/outbound/batches", retries: "keyed", body, options });
  }

  /**
   * List batches, newest first.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/batches`
   */
  list(query?: ListBatchesQuery, options?: RequestOptions): List<BatchDto, ListBatchesPage> {
    return this.client.list<BatchDto, ListBatchesPage>("query", { operation: "listBatches", method: "GET", path: "/api/outbound/batches", retries: "repeatable", query, options });
  }

  /**
   * Read a batch and the counts of its messages.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/outbound/batches/{batch_id}`
   */
  get(batchId: string, options?: RequestOptions): Promise<BatchDto> {
    return this.client.json<BatchDto>({ operation: "getBatch", method: "GET", path: path`/api/outbound/batches/${batchId}`, retries: "repeatable", options });
  }

  /**
   * Pause a batch.
   *
   * Sends nothing more of a batch that is scheduled or running until it is resumed. Messages that are being sent at this moment are finished. The time of the pause does not count for the 24 hours within which its messages must be sent. Repeating the request is no error.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/outbound/batches/{batch_id}/pause`
   */
  pause(batchId: string, options?: RequestOptions): Promise<BatchDto> {
    return this.client.json<BatchDto>({ operation: "pauseBatch", method: "POST", path: path`/api/outbound/batches/${batchId}/pause`, retries: "repeatable", options });
  }

  /**
   * Resume a paused batch.
   *
   * The batch continues, or is scheduled again while its `send_at` lies ahead. Repeating the request is no error.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/outbound/batches/{batch_id}/resume`
   */
  resume(batchId: string, options?: RequestOptions): Promise<BatchDto> {
    return this.client.json<BatchDto>({ operation: "resumeBatch", method: "POST", path: path`/api/outbound/batches/${batchId}/resume`, retries: "repeatable", options });
  }

  /**
   * Cancel a batch.
   *
   * Cancels all of its messages that are not being sent at this moment. The event `batch.updated` has the counts; there is no `message.status` for each message. Repeating the request is no error.
   *
   * Requires the scope `messages:send`.
   *
   * `POST /api/outbound/batches/{batch_id}/cancel`
   */
  cancel(batchId: string, options?: RequestOptions): Promise<BatchDto> {
    return this.client.json<BatchDto>({ operation: "cancelBatch", method: "POST", path: path`/api/outbound/batches/${batchId}/cancel`, retries: "repeatable", options });
  }
}

/** Messages that the chat platform must approve before they can start a conversation. */
export class TemplatesOperations extends Resource {
  /**
   * Submit a template for review.
   *
   * The response is 200 even if the chat platform rejects the template. `externalCode` is 200 if it was accepted for review; otherwise it is the platform's status, and `message` has the reason. The result of the review arrives as the event `template.status_updated`.
   *
   * Requires the scope `templates:manage`.
   *
   * `POST /api/templates/submit`
   */
  submit(body: SubmitTemplateDto, options?: RequestOptions): Promise<SubmitTemplateResponseDto> {
    return this.client.json<SubmitTemplateResponseDto>({ operation: "submitTemplate", method: "POST", path: "/api/templates/submit", retries: "single", body, options });
  }

  /**
   * List the templates of a channel, one entry per translation.
   *
   * Reads the templates from the chat platform now, in its order. Without `limit` the response contains all of them.
   *
   * Requires the scope `templates:manage`.
   *
   * `POST /api/templates/list`
   */
  list(body: ListTemplatesDto, options?: RequestOptions): List<TemplateDto, ListTemplatesPage> {
    return this.client.list<TemplateDto, ListTemplatesPage>("body", { operation: "listTemplates", method: "POST", path: "/api/templates/list", retries: "repeatable", body, options });
  }

  /**
   * Delete a template or one of its translations.
   *
   * The response is 200 even if the chat platform rejects the deletion: `success` is then false, and `message` has the reason. The name of an approved template stays reserved for 30 days.
   *
   * Requires the scope `templates:manage`.
   *
   * `DELETE /api/templates/delete`
   */
  delete(body: DeleteTemplateDto, options?: RequestOptions): Promise<DeleteTemplateResponseDto> {
    return this.client.json<DeleteTemplateResponseDto>({ operation: "deleteTemplate", method: "DELETE", path: "/api/templates/delete", retries: "single", body, options });
  }
}

/** Where Herald sends your events, and the token that authenticates them. */
export class WebhooksOperations extends Resource {
  /**
   * Read the webhook configuration.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/webhooks/config`
   */
  getConfig(options?: RequestOptions): Promise<WebhookConfigResponseDto> {
    return this.client.json<WebhookConfigResponseDto>({ operation: "getWebhookConfig", method: "GET", path: "/api/webhooks/config", retries: "repeatable", options });
  }

  /**
   * Set the webhook URL and token.
   *
   * `webhook_url` must be an https URL that is reachable from the internet. Setting or clearing the token ends the grace period of the previous token.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `PATCH /api/webhooks/config`
   */
  updateConfig(body: UpdateWebhookConfigDto = {}, options?: RequestOptions): Promise<WebhookConfigResponseDto> {
    return this.client.json<WebhookConfigResponseDto>({ operation: "updateWebhookConfig", method: "PATCH", path: "/api/webhooks/config", retries: "single", body, options });
  }

  /**
   * Enable or disable the events of a platform or service.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `PATCH /api/webhooks/dispatch/{platform}`
   */
  updateDispatch(platform: string, body: SwitchDispatchDto, options?: RequestOptions): Promise<WebhookConfigResponseDto> {
    return this.client.json<WebhookConfigResponseDto>({ operation: "updateWebhookDispatch", method: "PATCH", path: path`/api/webhooks/dispatch/${platform}`, retries: "single", body, options });
  }

  /**
   * Generate a new webhook token.
   *
   * The token is shown only in this response. During the grace period deliveries have two signatures, the new token's first; `x-webhook-token` carries the new token immediately.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/webhooks/config/generate-secret`
   */
  generateSecret(body: GenerateSecretDto = {}, options?: RequestOptions): Promise<GeneratedSecretDto> {
    return this.client.json<GeneratedSecretDto>({ operation: "generateWebhookSecret", method: "POST", path: "/api/webhooks/config/generate-secret", retries: "single", body, options });
  }

  /**
   * Send a test event now.
   *
   * Without `type`, makes one attempt, even if the key is disabled, with a timeout of 15 seconds. The event has the type `webhook.test` and empty data, and is listed with the other events.
   *
   * With `type`, which needs a `svc_test_` API key or a user token, the event is the example of that type with `data` merged over its data, and with `test: true`. It is recorded and delivered like a real event: switches and retries apply, and without a webhook_url it is skipped. Its ids are those of the example and name no object; it changes no message, conversation, template or channel. The response is that of the first attempt, at most 16 seconds later. A client has at most 5 waiting requests at a time: another one is 429 `rate_limited`.
   *
   * Each field of the body has at most 256 KiB of JSON; a larger one is 400.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/webhooks/test`
   */
  sendTest(body: TestWebhookDto = {}, options?: RequestOptions): Promise<SendTestEventReply> {
    return this.client.json<SendTestEventReply>({ operation: "sendTestEvent", method: "POST", path: "/api/webhooks/test", retries: "single", body, options });
  }
}

/** What happened, whether your backend has received it, and how to send it again. */
export class EventsOperations extends Resource {
  /**
   * Follow the events as they are recorded.
   *
   * Every event that is recorded for the client, whatever the switches of the webhook configuration say. A reader that follows the cursor gets every event at least once, normally within 2 seconds, in approximately the order of recording; it may get one again: drop repetitions by `event_id`. A cursor is valid for the client and the filters it was made with.
   *
   * JSON, by default: the events after the cursor, waiting up to `wait` seconds for the first one.
   *
   * Server-sent events, when `Accept` names `text/event-stream`: each event is a message `event` whose `id` is the cursor; the first message has only an id. `Last-Event-ID` has precedence over `cursor` and `since`. Every 15 seconds a comment keeps the connection open. The server ends the stream after 15 minutes, when it stops, when the credential no longer allows it, and when the reader takes nothing for 60 seconds: connect again with the last id.
   *
   * Open streams and waiting requests: 5 of a credential and 25 of a client, otherwise 429 `rate_limited`.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/events/stream`
   */
  poll(query?: StreamEventsQuery, options?: RequestOptions): Promise<StreamPageDto> {
    return this.client.json<StreamPageDto>({ operation: "streamEvents", method: "GET", path: "/api/events/stream", retries: "repeatable", query, options });
  }

  /**
   * List events and the state of their delivery, newest first.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/webhooks/events`
   */
  list(query?: ListEventsQuery, options?: RequestOptions): List<EventDto, ListEventsPage> {
    return this.client.list<EventDto, ListEventsPage>("query", { operation: "listEvents", method: "GET", path: "/api/webhooks/events", retries: "repeatable", query, options });
  }

  /**
   * Read an event with its payload and delivery attempts.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/webhooks/events/{id}`
   */
  get(id: string, options?: RequestOptions): Promise<EventDetailDto> {
    return this.client.json<EventDetailDto>({ operation: "getEvent", method: "GET", path: path`/api/webhooks/events/${id}`, retries: "repeatable", options });
  }

  /**
   * Send an event again now, even if it was delivered.
   *
   * Restarts the retry schedule; the count of attempts continues. The client's open event streams get the event too, with `replay: true`. While the event's key is disabled or no webhook_url is set, nothing changes and the response is 200.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/webhooks/events/{id}/retry`
   */
  retry(id: string, options?: RequestOptions): Promise<RetryEventReply> {
    return this.client.json<RetryEventReply>({ operation: "retryEvent", method: "POST", path: path`/api/webhooks/events/${id}/retry`, retries: "single", options });
  }

  /**
   * Send all failed or skipped events of a period again.
   *
   * Events that are sent again never delay new events. A client runs one bulk retry at a time: another one meanwhile is 429 `rate_limited`. When the caller disconnects, the events that were not reached yet stay unchanged. A `dry_run` of more events than can be counted in 4 seconds is 503 `overloaded`: choose a shorter period.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `POST /api/webhooks/events/retry`
   */
  retryAll(body: RetryEventsDto, options?: RequestOptions): Promise<RetriedEventsDto> {
    return this.client.json<RetriedEventsDto>({ operation: "retryEvents", method: "POST", path: "/api/webhooks/events/retry", retries: "single", body, options });
  }
}

/** How many messages and events were accepted, and what became of them. */
export class StatsOperations extends Resource {
  /**
   * Count outbound messages by outcome, interval and channel.
   *
   * Each message or event counts in the interval in which it was accepted. The period is extended to whole intervals. The figures are computed about twice a minute. A response has at most 25,000 rows; a request for more is 400: choose `interval=day`, a shorter period or one channel or key.
   *
   * Requires the scope `messages:send`.
   *
   * `GET /api/stats/messages`
   */
  messages(query?: GetMessageStatsQuery, options?: RequestOptions): Promise<MessageStatsDto> {
    return this.client.json<MessageStatsDto>({ operation: "getMessageStats", method: "GET", path: "/api/stats/messages", retries: "repeatable", query, options });
  }

  /**
   * Count events by outcome, interval and key.
   *
   * Each message or event counts in the interval in which it was accepted. The period is extended to whole intervals. The figures are computed about twice a minute. A response has at most 25,000 rows; a request for more is 400: choose `interval=day`, a shorter period or one channel or key.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/stats/events`
   */
  events(query?: GetEventStatsQuery, options?: RequestOptions): Promise<EventStatsDto> {
    return this.client.json<EventStatsDto>({ operation: "getEventStats", method: "GET", path: "/api/stats/events", retries: "repeatable", query, options });
  }

  /**
   * Group failed messages and events by cause.
   *
   * Counts the events whose delivery failed (scope `webhooks:manage`) and the messages that failed (scope `messages:send`), by the time at which they failed; the part without its scope is left out. What was sent again or delivered since does not count. The figures are live. A client reads them once at a time: another request meanwhile is 429 `rate_limited`. A period with too many failures to count in time is 503 `overloaded`: choose a shorter one.
   *
   * Requires the scope `webhooks:manage` or `messages:send`.
   *
   * `GET /api/stats/failures`
   */
  failures(query?: GetFailuresQuery, options?: RequestOptions): Promise<FailuresDto> {
    return this.client.json<FailuresDto>({ operation: "getFailures", method: "GET", path: "/api/stats/failures", retries: "repeatable", query, options });
  }

  /**
   * Read how many events wait for your backend now, by key, and since when the oldest message waits.
   *
   * Requires the scope `webhooks:manage`.
   *
   * `GET /api/stats/queue`
   */
  queue(options?: RequestOptions): Promise<QueueStatsDto> {
    return this.client.json<QueueStatsDto>({ operation: "getQueueStats", method: "GET", path: "/api/stats/queue", retries: "repeatable", options });
  }
}

/** The terms that your client must accept before it advertises. */
export class TermsOperations extends Resource {
  /**
   * Read which version of the terms is in force and whether it is accepted.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/terms`
   */
  status(options?: RequestOptions): Promise<MarketingTermsStatusDto> {
    return this.client.json<MarketingTermsStatusDto>({ operation: "getTermsStatus", method: "GET", path: "/api/marketing/terms", retries: "repeatable", options });
  }

  /**
   * Read the text of the terms in force.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/terms/text`
   */
  text(options?: RequestOptions): Promise<MarketingTermsTextDto> {
    return this.client.json<MarketingTermsTextDto>({ operation: "getTermsText", method: "GET", path: "/api/marketing/terms/text", retries: "repeatable", options });
  }

  /**
   * Accept the terms in force for the client.
   *
   * The requests under /api/marketing that connect or change something require this acceptance. A newly published version must be accepted again. Accepting a version twice changes nothing.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the scope `marketing:manage`. Requires the role `owner` or `admin`.
   *
   * `POST /api/marketing/terms/accept`
   */
  accept(body: AcceptTermsDto, options?: RequestOptions): Promise<MarketingTermsStatusDto> {
    return this.client.json<MarketingTermsStatusDto>({ operation: "acceptTerms", method: "POST", path: "/api/marketing/terms/accept", retries: "repeatable", body, options });
  }
}

/** Connect ad accounts through the ad platform's login, and choose which of them are active. */
export class AdAccountsOperations extends Resource {
  /**
   * Get the URL of the ad platform's login dialog.
   *
   * Send the person who has access to the ad accounts to `url`. The dialog redirects them to `redirect_uri` with `code` and `state`. Pass both to the exchange, and only once: the code within half a minute, the state within ten minutes.
   *
   * Requires the scope `marketing:manage`.
   *
   * `GET /api/marketing/oauth/url`
   */
  oauthUrl(query?: GetOAuthUrlQuery, options?: RequestOptions): Promise<OauthUrlResponseDto> {
    return this.client.json<OauthUrlResponseDto>({ operation: "getOAuthUrl", method: "GET", path: "/api/marketing/oauth/url", retries: "repeatable", query, options });
  }

  /**
   * Connect the ad accounts that a person has granted.
   *
   * Connects all granted accounts or none; the list is empty if no account was granted. New accounts and accounts that were revoked become `available`, and `ad_account.connected` is sent for each of them. Other accounts keep their status and use the new token. The state is single-use: it is consumed even when the exchange fails.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/oauth/exchange`
   */
  exchangeCode(body: ExchangeOAuthCodeBody, options?: RequestOptions): Promise<ExchangeOAuthCodeReply> {
    return this.client.json<ExchangeOAuthCodeReply>({ operation: "exchangeOAuthCode", method: "POST", path: "/api/marketing/oauth/exchange", retries: "single", body, options });
  }

  /**
   * List ad accounts, newest first.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/ad-accounts`
   */
  list(query?: ListAdAccountsQuery, options?: RequestOptions): List<AdAccountDto, ListAdAccountsPage> {
    return this.client.list<AdAccountDto, ListAdAccountsPage>("query", { operation: "listAdAccounts", method: "GET", path: "/api/marketing/ad-accounts", retries: "repeatable", query, options });
  }

  /**
   * Read an ad account.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/ad-accounts/{id}`
   */
  get(id: string, options?: RequestOptions): Promise<AdAccountDto> {
    return this.client.json<AdAccountDto>({ operation: "getAdAccount", method: "GET", path: path`/api/marketing/ad-accounts/${id}`, retries: "repeatable", options });
  }

  /**
   * Activate or disable an ad account.
   *
   * Herald works only with active accounts. Activating an account also subscribes to its changes at the ad platform; if that fails, it is retried later. If the platform rejects the token on this occasion, the account in the response is `revoked`. A revoked account must be connected again.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `PATCH /api/marketing/ad-accounts/{id}`
   */
  update(id: string, body: UpdateAdAccountBody, options?: RequestOptions): Promise<AdAccountDto> {
    return this.client.json<AdAccountDto>({ operation: "updateAdAccount", method: "PATCH", path: path`/api/marketing/ad-accounts/${id}`, retries: "single", body, options });
  }

  /**
   * Refresh an ad account from the ad platform.
   *
   * Reads the account from the ad platform now. Changes are also sent as `ad_account.updated`. Herald's own `status` does not change, unless the platform rejects the token: then every account with this token becomes `revoked`.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/ad-accounts/{id}/refresh`
   */
  refresh(id: string, options?: RequestOptions): Promise<AdAccountDto> {
    return this.client.json<AdAccountDto>({ operation: "refreshAdAccount", method: "POST", path: path`/api/marketing/ad-accounts/${id}/refresh`, retries: "single", options });
  }
}

/** The goal and, optionally, the budget of your advertising. Ad sets belong to a campaign. */
export class CampaignsOperations extends Resource {
  /**
   * Create a campaign and return it as the ad platform stored it.
   *
   * If the new object cannot be read again, the response contains its id and the fields sent. After 504 `platform_timeout` the object may exist: repeat the request with the same Idempotency-Key, which looks for the object before it creates one. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/campaigns`
   */
  create(body: CreateCampaignDto, options?: KeyedOptions): Promise<CampaignDto> {
    return this.client.json<CampaignDto>({ operation: "createCampaign", method: "POST", path: "/api/marketing/campaigns", retries: "keyed", body, options });
  }

  /**
   * Let the ad platform check the request of `create` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `POST /api/marketing/campaigns`
   */
  validate(body: CreateCampaignDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "createCampaign", method: "POST", path: "/api/marketing/campaigns", retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * List campaigns of an ad account, in the ad platform's order.
   *
   * Deleted and archived objects are listed only if `status` asks for them. A page may be short, or even empty, and still have more.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/campaigns`
   */
  list(query: ListCampaignsQuery, options?: RequestOptions): List<CampaignDto, ListCampaignsPage> {
    return this.client.list<CampaignDto, ListCampaignsPage>("query", { operation: "listCampaigns", method: "GET", path: "/api/marketing/campaigns", retries: "repeatable", query, options });
  }

  /**
   * Edit a campaign and return it as the ad platform stored it.
   *
   * Only the fields in the request change; null counts as absent. If the object cannot be read again, the response contains its id and the fields sent. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `PATCH /api/marketing/campaigns/{campaignId}`
   */
  update(campaignId: string, body: UpdateCampaignDto, options?: RequestOptions): Promise<CampaignDto> {
    return this.client.json<CampaignDto>({ operation: "updateCampaign", method: "PATCH", path: path`/api/marketing/campaigns/${campaignId}`, retries: "single", body, options });
  }

  /**
   * Let the ad platform check the request of `update` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `PATCH /api/marketing/campaigns/{campaignId}`
   */
  validateUpdate(campaignId: string, body: UpdateCampaignDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "updateCampaign", method: "PATCH", path: path`/api/marketing/campaigns/${campaignId}`, retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * Read a campaign from the ad platform.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/campaigns/{campaignId}`
   */
  get(campaignId: string, query: GetCampaignQuery, options?: RequestOptions): Promise<CampaignDto> {
    return this.client.json<CampaignDto>({ operation: "getCampaign", method: "GET", path: path`/api/marketing/campaigns/${campaignId}`, retries: "repeatable", query, options });
  }
}

/** Audience, schedule, bid and budget. Ads belong to an ad set. */
export class AdSetsOperations extends Resource {
  /**
   * Create an ad set and return it as the ad platform stored it.
   *
   * If the new object cannot be read again, the response contains its id and the fields sent. After 504 `platform_timeout` the object may exist: repeat the request with the same Idempotency-Key, which looks for the object before it creates one. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/adsets`
   */
  create(body: CreateAdSetDto, options?: KeyedOptions): Promise<AdSetDto> {
    return this.client.json<AdSetDto>({ operation: "createAdSet", method: "POST", path: "/api/marketing/adsets", retries: "keyed", body, options });
  }

  /**
   * Let the ad platform check the request of `create` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `POST /api/marketing/adsets`
   */
  validate(body: CreateAdSetDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "createAdSet", method: "POST", path: "/api/marketing/adsets", retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * List ad sets of an ad account, in the ad platform's order.
   *
   * Deleted and archived objects are listed only if `status` asks for them. A page may be short, or even empty, and still have more.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/adsets`
   */
  list(query: ListAdSetsQuery, options?: RequestOptions): List<AdSetDto, ListAdSetsPage> {
    return this.client.list<AdSetDto, ListAdSetsPage>("query", { operation: "listAdSets", method: "GET", path: "/api/marketing/adsets", retries: "repeatable", query, options });
  }

  /**
   * Edit an ad set and return it as the ad platform stored it.
   *
   * Only the fields in the request change; null counts as absent. If the object cannot be read again, the response contains its id and the fields sent. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `PATCH /api/marketing/adsets/{adSetId}`
   */
  update(adSetId: string, body: UpdateAdSetDto, options?: RequestOptions): Promise<AdSetDto> {
    return this.client.json<AdSetDto>({ operation: "updateAdSet", method: "PATCH", path: path`/api/marketing/adsets/${adSetId}`, retries: "single", body, options });
  }

  /**
   * Let the ad platform check the request of `update` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `PATCH /api/marketing/adsets/{adSetId}`
   */
  validateUpdate(adSetId: string, body: UpdateAdSetDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "updateAdSet", method: "PATCH", path: path`/api/marketing/adsets/${adSetId}`, retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * Read an ad set from the ad platform.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/adsets/{adSetId}`
   */
  get(adSetId: string, query: GetAdSetQuery, options?: RequestOptions): Promise<AdSetDto> {
    return this.client.json<AdSetDto>({ operation: "getAdSet", method: "GET", path: path`/api/marketing/adsets/${adSetId}`, retries: "repeatable", query, options });
  }
}

/** An ad joins an ad set with a creative. */
export class AdsOperations extends Resource {
  /**
   * Create an ad and return it as the ad platform stored it.
   *
   * If the new object cannot be read again, the response contains its id and the fields sent. After 504 `platform_timeout` the object may exist: repeat the request with the same Idempotency-Key, which looks for the object before it creates one. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/ads`
   */
  create(body: CreateAdDto, options?: KeyedOptions): Promise<AdDto> {
    return this.client.json<AdDto>({ operation: "createAd", method: "POST", path: "/api/marketing/ads", retries: "keyed", body, options });
  }

  /**
   * Let the ad platform check the request of `create` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `POST /api/marketing/ads`
   */
  validate(body: CreateAdDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "createAd", method: "POST", path: "/api/marketing/ads", retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * List ads of an ad account, in the ad platform's order.
   *
   * Deleted and archived objects are listed only if `status` asks for them. A page may be short, or even empty, and still have more.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/ads`
   */
  list(query: ListAdsQuery, options?: RequestOptions): List<AdDto, ListAdsPage> {
    return this.client.list<AdDto, ListAdsPage>("query", { operation: "listAds", method: "GET", path: "/api/marketing/ads", retries: "repeatable", query, options });
  }

  /**
   * Edit an ad and return it as the ad platform stored it.
   *
   * Only the fields in the request change; null counts as absent. If the object cannot be read again, the response contains its id and the fields sent. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `PATCH /api/marketing/ads/{adId}`
   */
  update(adId: string, body: UpdateAdDto, options?: RequestOptions): Promise<AdDto> {
    return this.client.json<AdDto>({ operation: "updateAd", method: "PATCH", path: path`/api/marketing/ads/${adId}`, retries: "single", body, options });
  }

  /**
   * Let the ad platform check the request of `update` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `PATCH /api/marketing/ads/{adId}`
   */
  validateUpdate(adId: string, body: UpdateAdDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "updateAd", method: "PATCH", path: path`/api/marketing/ads/${adId}`, retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * Read an ad from the ad platform.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/ads/{adId}`
   */
  get(adId: string, query: GetAdQuery, options?: RequestOptions): Promise<AdDto> {
    return this.client.json<AdDto>({ operation: "getAd", method: "GET", path: path`/api/marketing/ads/${adId}`, retries: "repeatable", query, options });
  }
}

/** The content of ads: a page's post with a link or a video. */
export class CreativesOperations extends Resource {
  /**
   * Create a creative and return it as the ad platform stored it.
   *
   * If the new object cannot be read again, the response contains its id and the fields sent. After 504 `platform_timeout` the object may exist: repeat the request with the same Idempotency-Key, which looks for the object before it creates one. With `validate_only=true`, the platform only checks the request: the response is 200 with `valid`, or the error that the request would get.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/creatives`
   */
  create(body: CreateCreativeDto, options?: KeyedOptions): Promise<CreativeDto> {
    return this.client.json<CreativeDto>({ operation: "createCreative", method: "POST", path: "/api/marketing/creatives", retries: "keyed", body, options });
  }

  /**
   * Let the ad platform check the request of `create` without carrying it out.
   *
   * The promise is rejected with the error that the request would get.
   *
   * `POST /api/marketing/creatives`
   */
  validate(body: CreateCreativeDto, options?: RequestOptions): Promise<void> {
    return this.client.check({ operation: "createCreative", method: "POST", path: "/api/marketing/creatives", retries: "repeatable", query: { validate_only: true }, body, options });
  }

  /**
   * List creatives of an ad account, in the ad platform's order.
   *
   * Deleted and archived objects are listed only if `status` asks for them. A page may be short, or even empty, and still have more.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/creatives`
   */
  list(query: ListCreativesQuery, options?: RequestOptions): List<CreativeDto, ListCreativesPage> {
    return this.client.list<CreativeDto, ListCreativesPage>("query", { operation: "listCreatives", method: "GET", path: "/api/marketing/creatives", retries: "repeatable", query, options });
  }

  /**
   * Read a creative from the ad platform.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/creatives/{creativeId}`
   */
  get(creativeId: string, query: GetCreativeQuery, options?: RequestOptions): Promise<CreativeDto> {
    return this.client.json<CreativeDto>({ operation: "getCreative", method: "GET", path: path`/api/marketing/creatives/${creativeId}`, retries: "repeatable", query, options });
  }
}

/** Images and videos that creatives use. */
export class MediaOperations extends Resource {
  /**
   * Upload an image to the library of an ad account.
   *
   * The ad platform decides which formats it accepts. Uploading the same file again returns the same `hash`.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/images`
   */
  uploadImage(body: UploadImageDto, options?: RequestOptions): Promise<UploadedImageDto> {
    return this.client.json<UploadedImageDto>({ operation: "uploadImage", method: "POST", path: "/api/marketing/images", retries: "repeatable", body, options });
  }

  /**
   * Register a video that the ad platform downloads from a public URL.
   *
   * The platform processes the video in the background: read it until its status is `ready`. After 504 the video may exist at the platform. A repetition with the same Idempotency-Key then stays 504, because the platform cannot be asked; another key registers another video.
   *
   * Requires the scope `marketing:manage`. The client must have accepted the terms in force.
   *
   * `POST /api/marketing/videos`
   */
  registerVideo(body: UploadVideoDto, options?: KeyedOptions): Promise<UploadedVideoDto> {
    return this.client.json<UploadedVideoDto>({ operation: "registerVideo", method: "POST", path: "/api/marketing/videos", retries: "keyed", body, options });
  }

  /**
   * Read how far the processing of a video is.
   *
   * Only videos that your client registered through this API in the ad account within the last 90 days are found.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/videos/{id}`
   */
  getVideo(id: string, query: GetVideoQuery, options?: RequestOptions): Promise<VideoDto> {
    return this.client.json<VideoDto>({ operation: "getVideo", method: "GET", path: path`/api/marketing/videos/${id}`, retries: "repeatable", query, options });
  }
}

/** Delivery metrics: queries, reports that the ad platform computes in the background, and summaries. */
export class InsightsOperations extends Resource {
  /**
   * Query the delivery metrics of an account, campaign, ad set or ad.
   *
   * For many rows, start a report instead. With `Accept: text/csv` the response has all rows, without paging; a client exports one CSV file at a time, and another one meanwhile is 429 `rate_limited`. Money in the rows is in major units of the currency, unlike budgets. Without delivery there are no rows.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/insights`
   */
  query(query: GetInsightsQuery, options?: RequestOptions): List<InsightsRow, GetInsightsPage> {
    return this.client.list<InsightsRow, GetInsightsPage>("query", { operation: "getInsights", method: "GET", path: "/api/marketing/insights", retries: "repeatable", query, options });
  }

  /**
   * Query the delivery metrics of an account, campaign, ad set or ad, as CSV.
   *
   * The text has all rows, up to the API's limit.
   *
   * `GET /api/marketing/insights`
   */
  queryCsv(query: GetInsightsQuery, options?: RequestOptions): Promise<string> {
    return this.client.text("text/csv", { operation: "getInsights", method: "GET", path: "/api/marketing/insights", retries: "repeatable", query, options });
  }

  /**
   * Compare the delivery of an ad account with the period before.
   *
   * The summary may be up to a minute old.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/insights/summary`
   */
  summary(query: GetInsightsSummaryQuery, options?: RequestOptions): Promise<InsightsSummaryDto> {
    return this.client.json<InsightsSummaryDto>({ operation: "getInsightsSummary", method: "GET", path: "/api/marketing/insights/summary", retries: "repeatable", query, options });
  }

  /**
   * Start an insights report, which the ad platform computes in the background.
   *
   * A report has a higher limit than a query. When it ends, the event `insights.report.completed` or `insights.report.failed` is sent. Then read its results.
   *
   * Each field of the body has at most 1 MiB of JSON; a larger one is 400.
   *
   * Requires the scope `marketing:read`.
   *
   * `POST /api/marketing/insights/reports`
   */
  createReport(body: CreateInsightsReportDto, options?: RequestOptions): Promise<InsightsReportRunDto> {
    return this.client.json<InsightsReportRunDto>({ operation: "createInsightsReport", method: "POST", path: "/api/marketing/insights/reports", retries: "single", body, options });
  }

  /**
   * Read the status of an insights report.
   *
   * The status may be up to 5 seconds old. `Job Failed` also stands for a run that the platform skipped. After 30 days the platform has no such run: 404 `platform_object_not_found`.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/insights/reports/{reportRunId}`
   */
  getReport(reportRunId: string, query?: GetInsightsReportQuery, options?: RequestOptions): Promise<InsightsReportRunDto> {
    return this.client.json<InsightsReportRunDto>({ operation: "getInsightsReport", method: "GET", path: path`/api/marketing/insights/reports/${reportRunId}`, retries: "repeatable", query, options });
  }

  /**
   * List the rows of an insights report.
   *
   * Before the report has completed, the list is empty. With `Accept: text/csv` the response has all rows, without paging; a client exports one CSV file at a time, and another one meanwhile is 429 `rate_limited`.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/insights/reports/{reportRunId}/results`
   */
  reportRows(reportRunId: string, query?: GetInsightsReportResultsQuery, options?: RequestOptions): List<InsightsRow, GetInsightsReportResultsPage> {
    return this.client.list<InsightsRow, GetInsightsReportResultsPage>("query", { operation: "getInsightsReportResults", method: "GET", path: path`/api/marketing/insights/reports/${reportRunId}/results`, retries: "repeatable", query, options });
  }

  /**
   * List the rows of an insights report, as CSV.
   *
   * The text has all rows, up to the API's limit.
   *
   * `GET /api/marketing/insights/reports/{reportRunId}/results`
   */
  reportRowsCsv(reportRunId: string, query?: GetInsightsReportResultsQuery, options?: RequestOptions): Promise<string> {
    return this.client.text("text/csv", { operation: "getInsightsReportResults", method: "GET", path: path`/api/marketing/insights/reports/${reportRunId}/results`, retries: "repeatable", query, options });
  }
}

/** The values that fields accept. */
export class EnumsOperations extends Resource {
  /**
   * List the values of every enumeration.
   *
   * One list per field. `call_to_action_type`, `date_preset`, `time_increment` and `insights_fields` list common values; the ad platform accepts more.
   *
   * Requires the scope `marketing:read`.
   *
   * `GET /api/marketing/enums`
   */
  get(options?: RequestOptions): Promise<EnumsDto> {
    return this.client.json<EnumsDto>({ operation: "getEnumerations", method: "GET", path: "/api/marketing/enums", retries: "repeatable", options });
  }
}

/** Who did what, and from where. */
export class AuditOperations extends Resource {
  /**
   * List audit log entries, newest first.
   *
   * Requires a user (user token or console); API keys are rejected. Requires the role `owner` or `admin`.
   *
   * `GET /api/audit`
   */
  list(query?: ListAuditEntriesQuery, options?: RequestOptions): List<AuditEntryDto, ListAuditEntriesPage> {
    return this.client.list<AuditEntryDto, ListAuditEntriesPage>("query", { operation: "listAuditEntries", method: "GET", path: "/api/audit", retries: "repeatable", query, options });
  }
}

/** Health, readiness, metrics and this API description. */
export class ServiceOperations extends Resource {
  /**
   * Check that the process is alive.
   *
   * The response does not depend on Postgres, Redis or a platform.
   *
   * `GET /healthz`
   */
  health(options?: RequestOptions): Promise<GetHealthReply> {
    return this.client.json<GetHealthReply>({ operation: "getHealth", method: "GET", path: "/healthz", retries: "repeatable", options });
  }

  /**
   * Check that requests can be served: 503 while Postgres does not answer or lacks migrations.
   *
   * The response is 200 with `status` `degraded` while Redis does not answer or refuses writes: nothing is lost without it. With 503 the body has the fields of an error and these.
   *
   * `GET /readyz`
   */
  readiness(options?: RequestOptions): Promise<GetReadinessReply> {
    return this.client.json<GetReadinessReply>({ operation: "getReadiness", method: "GET", path: "/readyz", retries: "repeatable", options });
  }

  /**
   * Get this API description as an OpenAPI 3.1 document.
   *
   * Generate a client from it; `webhooks` describes the events that your backend receives.
   *
   * `GET /api/openapi.json`
   */
  openapi(options?: RequestOptions): Promise<GetApiDescriptionReply> {
    return this.client.json<GetApiDescriptionReply>({ operation: "getApiDescription", method: "GET", path: "/api/openapi.json", retries: "repeatable", options });
  }
}
