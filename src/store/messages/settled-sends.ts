/** A message that its client is told of. */
export interface MessageEventRow {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  /** The message's own, or its channel's. */
  external_ref: string | null;
  platform_message_id: string | null;
}

export interface SettledSend extends MessageEventRow {
  /** Why it failed, as JSON. */
  error: string | null;
}

/** Its columns, of the message `m`. */
export const SETTLED_COLUMNS = `
    m.client_id, m.id, m.channel_id, m.platform, m.recipient, m.platform_message_id, m.error,
    coalesce(m.external_ref, (select c.external_ref from channels c where c.id = m.channel_id)) as external_ref`;

/** What goes before the timeline of the message `m`: that it was begun, where that is so and not written down yet. */
export const sendingStep = (startedAt: string): string => `case
      when ${startedAt} is null or m.timeline @> '[{"status": "sending"}]' then '[]'
      else jsonb_build_array(jsonb_build_object('status', 'sending', 'at', ${startedAt}))
    end`;
