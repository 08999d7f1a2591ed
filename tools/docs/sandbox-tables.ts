import { createLog } from "../../src/runtime/log.ts";
import {
  AD_ACCOUNTS,
  BUILT_IN_TOKENS,
  LEADS,
  PAGES,
  type PhoneNumber,
  WABAS,
} from "../../src/sandbox/built-in-assets.ts";
import { FAULT_EFFECTS } from "../../src/sandbox/faults.ts";
import { MAGIC_VALUES } from "../../src/sandbox/magic-values.ts";
import { createSandbox } from "../../src/sandbox/sandbox.ts";
import type { SandboxSettings } from "../../src/sandbox/settings.ts";
import { code, type GeneratedParts, markdownTable } from "./markdown.ts";

function describeNumber({ verified_name, pin, code_verification_status }: PhoneNumber): string {
  const notes = [
    ...(pin === undefined ? [] : [`two-step verification PIN ${pin}`]),
    ...(code_verification_status === "VERIFIED" ? [] : ["not verified"]),
  ];
  return [`phone number ${verified_name}`, ...notes].join(", ");
}

const assetRows = (): string[][] => [
  ...AD_ACCOUNTS.map(({ id, name, currency, imageHash }) => [
    code(`act_${id}`),
    `ad account ${name} (${currency}), image ${code(imageHash)}`,
  ]),
  ...WABAS.flatMap(({ id, name, numbers }) => [
    [code(id), `chat business ${name}`],
    ...numbers.map((number) => [code(number.id), describeNumber(number)]),
  ]),
  ...PAGES.flatMap(({ id, name, instagram }) => [
    [code(id), `page ${name}`],
    ...(instagram ? [[code(instagram.id), `photo account of ${name}`]] : []),
  ]),
  ...LEADS.map(({ id, page_id }) => [code(id), `lead of the page ${code(page_id)}`]),
];

const tokenRows = (): string[][] =>
  Object.entries(BUILT_IN_TOKENS).map(([token, { kind, assets }]) => [
    code(token),
    kind,
    assets.map(code).join(", "),
  ]);

/** The control routes exist only in a sandbox: reads their summaries from one on a free port. */
async function endpointRows(settings: SandboxSettings): Promise<string[][]> {
  const log = createLog({ LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "docs" });
  const sandbox = createSandbox({ settings, port: 0, mediaPort: 0, log });
  await sandbox.start?.({ fail: () => {} });
  try {
    const index = (await (await fetch(`${sandbox.origin()}/_sandbox`)).json()) as {
      endpoints: { endpoint: string; summary: string }[];
    };
    return index.endpoints.map(({ endpoint, summary }) => [code(endpoint), summary]);
  } finally {
    await sandbox.close?.();
  }
}

/** The tables of the documentation that describe the sandbox. */
export async function sandboxTables(settings: SandboxSettings): Promise<GeneratedParts> {
  const faultRows = Object.entries(FAULT_EFFECTS).map(([kind, effect]) => [code(kind), effect]);
  const magicRows = MAGIC_VALUES.map(({ value, effect }) => [value, effect]);
  return new Map([
    ["sandbox-endpoints", markdownTable(["endpoint", "effect"], await endpointRows(settings))],
    ["sandbox-faults", markdownTable(["kind", "effect"], faultRows)],
    ["sandbox-magic-values", markdownTable(["value", "effect"], magicRows)],
    ["sandbox-assets", markdownTable(["id", "asset"], assetRows())],
    ["sandbox-tokens", markdownTable(["token", "kind", "gives access to"], tokenRows())],
  ]);
}
