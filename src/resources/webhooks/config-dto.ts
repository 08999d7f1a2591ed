import { describeEndpoint } from "../../delivery/endpoints.ts";
import { type DispatchKey, type EventKey, PLATFORMS, SERVICES } from "../../schema/enumerations.ts";
import type { WebhookConfigRow } from "../../store/tenants/webhook-configs.ts";

type VisibleConfig = Pick<
  WebhookConfigRow,
  "webhook_url" | "secret_last4" | "disabled_keys" | "token_header"
>;

/**
 * The configuration as its client sees it: all URLs and switches, but only the last characters of the token.
 */
export function toWebhookConfig(row: VisibleConfig) {
  const { webhook_url: base, secret_last4: last4, disabled_keys } = row;
  const toEndpoint = (key: EventKey) => {
    const { url, events } = describeEndpoint(base, key);
    return { url, events: [...events] };
  };
  const toSwitchedEndpoint = (key: DispatchKey) => ({
    enabled: !disabled_keys.includes(key),
    ...toEndpoint(key),
  });
  const toRoutes = (key: DispatchKey) =>
    describeEndpoint(base, key).routes.map(({ url, events }) => ({ url, events: [...events] }));
  return {
    webhook_url: base ?? "",
    webhook_secret_set: last4 !== null,
    webhook_secret_hint: last4 === null ? "" : `whsec_…${last4}`,
    configured: base !== null,
    token_header: row.token_header,
    signature_header: "x-webhook-token" as const,
    dispatch_urls: {
      platforms: byKey(PLATFORMS, (key) => ({ ...toSwitchedEndpoint(key), routes: toRoutes(key) })),
      services: byKey(SERVICES, toSwitchedEndpoint),
      embedded_signup: toEndpoint("embedded_signup"),
    },
  };
}

const byKey = <K extends string, V>(keys: readonly K[], make: (key: K) => V) =>
  Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<K, V>;
