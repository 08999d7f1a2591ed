import type {
  DispatchUrlsDto,
  EventDto,
  GeneratedSecretDto,
  SetupDto,
  SetupStepDto,
  UpdateWebhookConfigDto,
  WebhookConfigResponseDto,
} from "../../../../sdk/src/generated/types.ts";
import { call } from "../../app/api.ts";
import type { EventType } from "../event-types.ts";

const PATH = "/api/webhooks/config";

/** The configuration, and what Herald says about its address and secret. */
export interface WebhookSetup {
  config: WebhookConfigResponseDto;
  address: SetupStepDto | undefined;
  secret: SetupStepDto | undefined;
}

export async function loadSetup(signal: AbortSignal): Promise<WebhookSetup> {
  const [config, { data }] = await Promise.all([
    call<WebhookConfigResponseDto>("GET", PATH, { signal }),
    call<SetupDto>("GET", "/api/setup", { signal }),
  ]);
  const stepOf = (name: SetupStepDto["step"]) => data.find(({ step }) => step === name);
  return { config, address: stepOf("webhook_address"), secret: stepOf("webhook_secret") };
}

export const changeConfig = (changes: UpdateWebhookConfigDto): Promise<WebhookConfigResponseDto> =>
  call("PATCH", PATH, { body: changes });

/** Returns the new secret, which cannot be read again. */
export async function generateSecret(graceMinutes: number): Promise<string> {
  const body = { grace_minutes: graceMinutes };
  return (await call<GeneratedSecretDto>("POST", `${PATH}/generate-secret`, { body })).webhook_secret;
}

export const switchDispatch = (key: EventKey, enabled: boolean): Promise<WebhookConfigResponseDto> =>
  call("PATCH", `/api/webhooks/dispatch/${key}`, { body: { enabled } });

export type EventKey = NonNullable<EventDto["key"]>;

/** The events of a platform or service, and where they are sent. */
export interface DispatchRow {
  key: EventKey;
  /** Undefined when these events cannot be switched off. */
  isEnabled: boolean | undefined;
  routes: readonly { url: string | null; events: readonly EventType[] }[];
}

export function dispatchRows({ platforms, services, embedded_signup }: DispatchUrlsDto): DispatchRow[] {
  const switched = Object.entries({ ...platforms, ...services }).map(([key, { enabled, ...own }]) => ({
    key: key as EventKey,
    isEnabled: enabled,
    routes: "routes" in own ? [...own.routes, own] : [own],
  }));
  return [...switched, { key: "embedded_signup", isEnabled: undefined, routes: [embedded_signup] }];
}

/** The keys that events of a type may have. */
export const keysOf = (rows: readonly DispatchRow[], type: EventType): EventKey[] =>
  rows.filter(({ routes }) => routes.some(({ events }) => events.includes(type))).map(({ key }) => key);
