import { spawn } from "node:child_process";
import { once } from "node:events";
import t, { type Test } from "tap";
import { LANGUAGES, type Language, PROGRAMS } from "../../src/console/screens/webhooks/programs.ts";
import { freePort } from "../../src/local/server-process.ts";
import { MINUTE } from "../../src/runtime/durations.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { attemptHeaders } from "../../src/security/webhook-signature.ts";
import { pythonProgram } from "../fixtures/servers/programs.ts";
import { until } from "../fixtures/until.ts";

const NODE = () => [process.execPath, "--input-type=module", "-e"] as const;

const COMMANDS: Readonly<Record<Language, () => readonly [program: string, ...args: string[]]>> = {
  sdk: NODE,
  node: NODE,
  python: () => [pythonProgram(), "-c"],
};

const GENERATED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OWN = "a-secret-of-my-own";
const OTHER = "whsec_pVvyWnTq0cUo3mB6s1dGx8kYhR2eJ5zL7aFi9NQtXkE=";

const BODY = JSON.stringify({ id: "evt_1", type: "message.received", data: { body: "Olá" } });

/** The headers of a delivery; by default of one that is made now, signed with one secret. */
const sign = (current: string | undefined, { former, ageMs = 0 }: { former?: string; ageMs?: number } = {}) =>
  attemptHeaders({
    ...{ id: "evt_1", type: "message.received", payload: BODY, attempt: 1, isTokenSent: false },
    tokens: { ...(current === undefined ? {} : { current }), ...(former === undefined ? {} : { former }) },
    at: new Date(Date.now() - ageMs),
  });

function start(language: Language, secret: string, port = 0) {
  const [program, ...args] = COMMANDS[language]();
  const { PATH = "", HOME = "" } = process.env;
  return spawn(program, [...args, PROGRAMS[language].code], {
    cwd: packageRoot(), // where the SDK is installed
    env: { PATH, HOME, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "ignore"],
  });
}

/** Starts a program and returns what sends it a delivery, and what it has written. */
async function startProgram(t: Test, language: Language, secret: string) {
  const port = await freePort();
  const child = start(language, secret, port);
  t.teardown(() => child.kill());
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  const deliver = async (headers: Record<string, string>, body = BODY): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body })).status;
  await until(`the program for ${language} listens`, () => deliver({}).catch(() => undefined));
  return { deliver, output: () => output };
}

for (const language of LANGUAGES) {
  t.test(`the program for ${language} takes what Herald has signed, and nothing else`, async (t) => {
    for (const secret of [GENERATED, OWN]) {
      const { deliver, output } = await startProgram(t, language, secret);
      t.equal(await deliver(sign(secret)), 204, "a delivery");
      await until("the event is written", () => output().includes("message.received evt_1"));
      const written = output();
      t.equal(await deliver(sign(OTHER, { former: secret })), 204, "the secret was replaced");
      t.equal(await deliver(sign(secret, { former: OTHER })), 204, "and the backend knows the new one");
      t.equal(await deliver(sign(secret), BODY.replace("Olá", "Ola")), 400, "another body");
      t.equal(await deliver({ ...sign(secret), "webhook-id": "evt_2" }), 400, "another id");
      t.equal(await deliver(sign(OTHER)), 400, "another secret");
      t.equal(await deliver(sign(secret, { ageMs: 6 * MINUTE })), 400, "an old delivery");
      t.equal(await deliver(sign(secret, { ageMs: -6 * MINUTE })), 400, "one of the future");
      t.equal(await deliver({ ...sign(secret), "webhook-timestamp": "now" }), 400, "no time");
      t.equal(await deliver(sign(undefined)), 400, "no signature");
      await until("the last one is written", () => output().length === 3 * written.length);
    }
  });

  t.test(`the program for ${language} does not start without a secret`, async (t) => {
    const [status] = await once(start(language, ""), "exit");
    t.equal(status, 1);
  });
}
