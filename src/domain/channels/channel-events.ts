import type { EmbedResultDto } from "../../schema/channels.ts";
import type { Platform } from "../../schema/enumerations.ts";
import type { DisconnectReason } from "../../schema/events/channel-events.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { EmbedSessionRow } from "../../store/embed/sessions.ts";
import type { EventDraft } from "../events/record-events.ts";

type EndedChannel = Pick<ChannelRow, "client_id" | "id" | "platform" | "external_ref">;

export const channelDisconnected = (row: EndedChannel, reason: DisconnectReason): EventDraft => ({
  clientId: row.client_id,
  type: "channel.disconnected",
  key: row.platform as Platform,
  channelId: row.id,
  channelExternalRef: row.external_ref,
  data: { reason },
});

/** A signup was completed. */
export const channelConnected = (
  { id, client_id, external_ref }: EmbedSessionRow,
  result: EmbedResultDto,
): EventDraft => ({
  clientId: client_id,
  type: "channel.connected",
  key: "embedded_signup",
  channelId: result.channel.channel_id,
  externalRef: external_ref,
  channelExternalRef: result.channel.external_ref ?? null,
  data: { session_id: id, result },
});
