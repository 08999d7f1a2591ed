/** A message of which its client is to hear. */
export interface SettledSend {
  client_id: string;
  id: string;
  channel_id: string;
  platform: string;
  recipient: string;
  external_ref: string | null;
  platform_message_id: string | null;
  /** Why it failed, as JSON. */
  error: string | null;
}

/** Its columns, of the message `m`. */
export const SETTLED = `
    m.client_id, m.id, m.channel_id, m.platform, m.recipient, m.platform_message_id, m.error,
    coalesce(m.external_ref, (select c.external_ref from channels c where c.id = m.channel_id)) as external_ref`;
