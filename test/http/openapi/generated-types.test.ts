import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { describeApi } from "../../../src/http/openapi/describe-api.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { productRoutes } from "../../fixtures/http/api.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";

const runNode = (folder: string, script: string, args: readonly string[]): string =>
  String(spawnSync(process.execPath, [join(packageRoot(), script), ...args], { cwd: folder }).stdout);

/** Returns the lines of the program that do not compile. */
function compileErrors(folder: string, program: string): string[] {
  // The types of all routes would take seconds.
  const routes = productRoutes().filter(({ operationId }) => operationId === "sendMessage");
  const document = describeApi(routes, { publicUrl: "https://herald.example" });
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
  writeFileSync(join(folder, "program.ts"), program);
  runNode(folder, "api-types.js", ["openapi.json", "api.ts"]);
  const args = ["--strict", "--noEmit", "--pretty", "false", "--lib", "es2023", "program.ts"];
  const output = runNode(folder, "node_modules/typescript/bin/tsc", args);
  return [...output.matchAll(/^program\.ts\((\d+)|^(api\.ts\(.*)$/gm)].map(
    ([, line, other]) => other ?? (program.split("\n")[Number(line) - 1] as string).trim(),
  );
}

t.test("a client generated from the document rejects what the API would reject", async (t) => {
  const folder = makeTempFolder(t);
  const program = `
import type { components, operations } from "./api.js";
type Message = operations["sendMessage"]["requestBody"]["content"]["application/json"];
type Payload =
  | components["schemas"]["MessageReceivedEvent"]
  | components["schemas"]["MessageStatusEvent"]
  | components["schemas"]["MessageSendResultEvent"];
const to = { channel_id: "ch_1", to: "5511988887777" };
export const text: Message = { ...to, type: "text", text: { body: "Hi" } };
export const image: Message = { ...to, type: "image", image: { link: "https://shop.example/a.png" } };
export const withoutText: Message = { ...to, type: "text" };
export const withoutBody: Message = { ...to, type: "text", text: {} };
export const otherContent: Message = { ...to, type: "text", image: { link: "https://shop.example/a.png" } };
export const unknownType: Message = { ...to, type: "letter", text: { body: "Hi" } };
export function answer(payload: Payload): string | undefined {
  if (payload.type === "message.received") return payload.data.from.id;
  if (payload.type === "message.send_result") return payload.data.outcome;
  return payload.type === "message.status" ? payload.data.outcome : undefined;
}
`;
  const names = compileErrors(folder, program).map((line) => /const (\w+)/.exec(line)?.[1] ?? line);
  t.same(names, [
    "withoutText",
    "withoutBody",
    "otherContent",
    "unknownType",
    'return payload.type === "message.status" ? payload.data.outcome : undefined;',
  ]);
});
