import { createLog } from "../../runtime/logging/log.ts";
import { createSandbox } from "../../sandbox/sandbox.ts";
import type { SandboxSettings } from "../../sandbox/settings.ts";
import { type GeneratedParts, markdownTable } from "./markdown.ts";

/** The answer of `GET /_sandbox`, as far as the documentation shows it. */
interface SandboxIndex {
  endpoints: { endpoint: string; summary: string }[];
  faults: { kind: string; effect: string }[];
  magic_values: { value: string; effect: string }[];
  ad_accounts: { id: string; name: string }[];
  chat_businesses: { id: string; name: string; numbers: string[] }[];
  pages: { id: string; name: string; instagram?: { id: string } }[];
  leads: { id: string; page_id: string }[];
  tokens: { token: string; kind: string; assets: string[] }[];
}

const code = (text: string) => `\`${text}\``;

function assetRows({ ad_accounts, chat_businesses, pages, leads }: SandboxIndex): string[][] {
  return [
    ...ad_accounts.map(({ id, name }) => [code(id), `ad account ${name}`]),
    ...chat_businesses.flatMap(({ id, name, numbers }) => [
      [code(id), `chat business ${name}`],
      ...numbers.map((number) => [code(number), `phone number of ${name}`]),
    ]),
    ...pages.flatMap(({ id, name, instagram }) => [
      [code(id), `page ${name}`],
      ...(instagram ? [[code(instagram.id), `photo account of ${name}`]] : []),
    ]),
    ...leads.map(({ id, page_id }) => [code(id), `lead of the page ${code(page_id)}`]),
  ];
}

const toTables = (index: SandboxIndex): GeneratedParts =>
  new Map([
    [
      "sandbox-endpoints",
      markdownTable(
        ["endpoint", "effect"],
        index.endpoints.map(({ endpoint, summary }) => [code(endpoint), summary]),
      ),
    ],
    [
      "sandbox-faults",
      markdownTable(
        ["kind", "effect"],
        index.faults.map(({ kind, effect }) => [code(kind), effect]),
      ),
    ],
    [
      "sandbox-magic-values",
      markdownTable(
        ["value", "effect"],
        index.magic_values.map(({ value, effect }) => [value, effect]),
      ),
    ],
    ["sandbox-assets", markdownTable(["id", "asset"], assetRows(index))],
    [
      "sandbox-tokens",
      markdownTable(
        ["token", "kind", "gives access to"],
        index.tokens.map(({ token, kind, assets }) => [code(token), kind, assets.map(code).join(", ")]),
      ),
    ],
  ]);

/** The tables of the documentation that describe the sandbox, read from a sandbox on a free port. */
export async function sandboxTables(settings: SandboxSettings): Promise<GeneratedParts> {
  const log = createLog({ LOG_LEVEL: "silent", LOG_FORMAT: "json", process: "docs" });
  const sandbox = createSandbox({ settings, port: 0, log });
  await sandbox.start?.({ fail: () => {} });
  try {
    return toTables((await (await fetch(`${sandbox.origin()}/_sandbox`)).json()) as SandboxIndex);
  } finally {
    await sandbox.close?.();
  }
}
