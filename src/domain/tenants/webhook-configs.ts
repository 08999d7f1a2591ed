import { MINUTE } from "../../runtime/durations.ts";
import type { DispatchKey } from "../../schema/enumerations.ts";
import {
  generateWebhookToken,
  isInGracePeriod,
  openWebhookTokens,
  sealWebhookToken,
  type WebhookTokens,
} from "../../security/sealed-tokens.ts";
import { type SecretBox, SecretBoxError } from "../../security/secret-box.ts";
import type { Database } from "../../store/database/database.ts";
import { type AuditActor, recordAudit } from "../../store/tenants/audit-log.ts";
import {
  lockWebhookConfig,
  saveWebhookConfig,
  type WebhookConfigRow,
} from "../../store/tenants/webhook-configs.ts";

interface Parts {
  db: Database;
  secretBox: SecretBox;
}

/** New column values and their audit entry; undefined leaves the row unchanged. */
type ConfigChange =
  | { to: Partial<WebhookConfigRow>; action: string; details: Record<string, unknown> }
  | undefined;

/** Changes the locked configuration and returns the result. */
function updateConfig(
  db: Database,
  actor: AuditActor,
  decide: (row: WebhookConfigRow) => ConfigChange,
): Promise<WebhookConfigRow> {
  const { clientId } = actor;
  return db.transaction(async (tx) => {
    const row = await lockWebhookConfig(tx, clientId);
    const decision = decide(row);
    if (!decision) return row;
    const { to, action, details } = decision;
    const after = { ...row, ...to };
    await saveWebhookConfig(tx, clientId, after);
    await recordAudit(tx, actor, { action, target: clientId, details });
    return after;
  });
}

/** Null removes the value; undefined leaves it unchanged. */
export interface ConfigChanges {
  webhookUrl?: string | null | undefined;
  webhookSecret?: string | null | undefined;
  tokenHeader?: boolean | undefined;
}

export const changeWebhookConfig = (
  { db, secretBox }: Parts,
  actor: AuditActor,
  { webhookUrl, webhookSecret, tokenHeader }: ConfigChanges,
): Promise<WebhookConfigRow> =>
  updateConfig(db, actor, (row) => {
    const isNewUrl = webhookUrl !== undefined && webhookUrl !== row.webhook_url;
    const isNewSecret = webhookSecret !== undefined && !isOnlyToken(webhookSecret, row, secretBox);
    const isNewHeader = tokenHeader !== undefined && tokenHeader !== row.token_header;
    if (!isNewUrl && !isNewSecret && !isNewHeader) return undefined;
    return {
      to: {
        ...(isNewUrl ? { webhook_url: webhookUrl } : {}),
        ...(isNewSecret
          ? { ...secretColumns(secretBox, row.client_id, webhookSecret), ...NO_FORMER_SECRET }
          : {}),
        ...(isNewHeader ? { token_header: tokenHeader } : {}),
      },
      action: "webhook.config_updated",
      details: {
        ...(isNewUrl ? { webhook_url: { from: row.webhook_url, to: webhookUrl } } : {}),
        ...(isNewSecret ? { secret: webhookSecret === null ? "cleared" : "set" } : {}),
        ...(isNewHeader ? { token_header: tokenHeader } : {}),
      },
    };
  });

/** True when this is the current token and no former one is still in its grace period. */
const isOnlyToken = (secret: string | null, row: WebhookConfigRow, box: SecretBox): boolean =>
  !isInGracePeriod(row) &&
  (secret === null ? row.secret_sealed === null : readableTokens(row, box).current === secret);

/** Empty when no encryption key opens the tokens: a lost token must still be replaceable. */
function readableTokens(row: WebhookConfigRow, box: SecretBox): WebhookTokens {
  try {
    return openWebhookTokens(row, box);
  } catch (error) {
    if (error instanceof SecretBoxError) return {};
    throw error;
  }
}

const NO_FORMER_SECRET = { former_secret_sealed: null, former_secret_until: null };

const secretColumns = (box: SecretBox, id: string, secret: string | null) => ({
  secret_sealed: secret === null ? null : sealWebhookToken(box, secret, { column: "secret_sealed", id }),
  secret_last4: secret === null ? null : secret.slice(-4),
});

export const switchDispatch = (
  db: Database,
  actor: AuditActor,
  { key, enabled }: { key: DispatchKey; enabled: boolean },
): Promise<WebhookConfigRow> =>
  updateConfig(db, actor, (row) => {
    if (row.disabled_keys.includes(key) !== enabled) return undefined;
    const others = row.disabled_keys.filter((disabled) => disabled !== key);
    return {
      to: { disabled_keys: enabled ? others : [...others, key] },
      action: "webhook.switched",
      details: { key, enabled },
    };
  });

/** Returns a new token, which cannot be read again. The former one also signs during the grace period. */
export async function generateSecret(
  { db, secretBox }: Parts,
  actor: AuditActor,
  graceMinutes: number,
): Promise<string> {
  const token = generateWebhookToken();
  await updateConfig(db, actor, (row) => ({
    to: { ...secretColumns(secretBox, row.client_id, token), ...formerColumns(secretBox, row, graceMinutes) },
    action: "webhook.secret_generated",
    details: { grace_minutes: graceMinutes },
  }));
  return token;
}

/** Returns the client's token; null where it has none, or none that our keys open. */
export const readSecret = (row: WebhookConfigRow, box: SecretBox): string | null =>
  readableTokens(row, box).current ?? null;

function formerColumns(box: SecretBox, row: WebhookConfigRow, graceMinutes: number) {
  const { current } = readableTokens(row, box);
  if (graceMinutes === 0 || current === undefined) return NO_FORMER_SECRET;
  return {
    former_secret_sealed: sealWebhookToken(box, current, {
      column: "former_secret_sealed",
      id: row.client_id,
    }),
    former_secret_until: new Date(Date.now() + graceMinutes * MINUTE),
  };
}
