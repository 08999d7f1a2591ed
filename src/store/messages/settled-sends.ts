/** Columns of a message that its events contain. */
export interface MessageEventRow {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  external_ref: string | null;
  channel_external_ref: string | null;
  platform_message_id: string | null;
}

export interface SettledSend extends MessageEventRow {
  /** Error of a failed message, as JSON. */
  error: string | null;
}

/** Columns of SettledSend, from the message `m`. */
export const SETTLED_COLUMNS = `
    m.client_id, m.id, m.channel_id, m.platform, m.recipient, m.platform_message_id, m.error, m.external_ref,
    (select c.external_ref from channels c where c.id = m.channel_id) as channel_external_ref`;

/**
 * SQL: prefix of the timeline of the message `m`: the `sending` step, if the send was started and the step is
 * missing.
 */
export const sendingStep = (startedAt: string): string => `case
      when ${startedAt} is null or m.timeline @> '[{"status": "sending"}]' then '[]'
      else jsonb_build_array(jsonb_build_object('status', 'sending', 'at', ${startedAt}))
    end`;
