import { randomBytes } from "node:crypto";
import t, { type Test } from "tap";
import { freePort } from "../../src/local/server-process.ts";
import { createApiCall, productRoutes } from "../fixtures/http/api.ts";
import { signWebhook } from "../fixtures/platforms/webhooks.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { startProcess } from "../fixtures/processes/processes.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { until } from "../fixtures/until.ts";

const randomSecret = (name: string) => `${name}-${randomBytes(12).toString("hex")}`;

/** Every secret of the test, by kind. */
type Secrets = Map<string, string>;

/** Texts that would reveal a secret: the secret itself, URL-encoded and in base64. */
const tracesOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1),
];

/**
 * Each process logs in another format: all formats write the same fields. test/runtime/logging/log.test.ts tests the
 * formats.
 */
async function startProcesses(t: Test, settings: Record<string, string>) {
  const PORT = String(await freePort());
  const start = (name: string, LOG_FORMAT: string) =>
    startProcess(t, name, { ...settings, PORT }, { log: { LOG_FORMAT, LOG_LEVEL: "trace" } });
  const [web, dispatcher, scheduler] = [
    start("web", "logfmt"),
    start("dispatcher", "json"),
    start("scheduler", "pretty"),
  ];
  const address = `http://127.0.0.1:${PORT}`;
  await until("web answers", () =>
    fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { address, web, dispatcher, scheduler };
}

type Call = ReturnType<typeof createApiCall>;
type Herald = ReturnType<typeof createCommandRunner>;
type RawClient = Awaited<ReturnType<typeof connectRawClient>>;

/** Uses credentials of every kind, valid and invalid; adds them and the answers' secrets to `secrets`. */
async function useCredentials(call: Call, secrets: Secrets, herald: Herald) {
  const { client_id } = (await herald(["client", "create", "--name", "c", "--json"])).json;
  const email = `${randomBytes(6).toString("hex")}@example.com`;
  const userArgs = ["--client", client_id, "--email", email, "--name", "N", "--role", "owner"];
  const { password } = (await herald(["user", "create", ...userArgs, "--json"])).json;
  const wrongPassword = randomSecret("wrong-password");
  await call("POST", "/api/auth/login", { json: { email, password: wrongPassword } });
  const { token, user } = (await call("POST", "/api/auth/login", { json: { email, password } })).body;
  secrets.set("password", password).set("wrong password", wrongPassword).set("user token", token);
  const headers = { authorization: `Bearer ${token}` };
  const cookie = { cookie: `herald_console=${token}`, "x-herald-console": "1" };
  await call("GET", "/api/users", { headers: cookie });

  const keyInput = { name: "k", scopes: ["messages:send"] };
  const { id, key } = (await call("POST", "/api/keys", { headers, json: keyInput })).body;
  const rotated = await call("POST", `/api/keys/${id}/rotate`, { headers, json: { grace_minutes: 5 } });
  secrets.set("API key", key.slice(-43)).set("rotated API key", rotated.body.key.slice(-43));
  const unknown = `svc_test_${"0".repeat(26)}_${randomBytes(43).toString("hex").slice(0, 43)}`;
  secrets.set("unknown API key", unknown);
  for (const apiKey of [key, unknown, `${key} `])
    await call("GET", "/api/auth/me", { headers: { "x-svc-api-key": apiKey } });
  await call("GET", "/api/auth/me", { headers: { ...headers, "x-svc-api-key": key } });

  const userInput = { email: `x${email}`, name: "X", role: "member" };
  secrets.set(
    "generated password",
    (await call("POST", "/api/users", { headers, json: userInput })).body.password,
  );
  const newPassword = randomSecret("fresh-password");
  secrets.set("new password", newPassword);
  const passwordInput = { password: newPassword, old_password: password };
  await call("POST", `/api/users/${user.id}/password`, { headers, json: passwordInput });
  return { client: client_id, email, password: newPassword, key };
}

interface ChannelContext {
  call: Call;
  herald: Herald;
  raw: RawClient;
  client: string;
  appSecret: string;
  /** Ids of two pages that no other client has. */
  pages: readonly [string, string];
}

/** Adds a channel token that is accepted, refused, and rejected by the database; returns the outputs. */
async function useChannelToken(
  t: Test,
  { call, herald, raw, client, pages: [pageId] }: ChannelContext,
  secrets: Secrets,
): Promise<string[]> {
  const token = randomSecret("channel-token");
  secrets.set("channel token", token);
  const channelArgs = ["--client", client, "--platform", "socialapp", "--page-id", pageId];
  const add = (typed: string) => herald(["channel", "add", ...channelArgs, "--token", "-", "--json"], typed);
  const added = await add(token);
  const refused = await add(`${token} `);
  await raw.query("alter table channels add constraint refused check (token_sealed is null) not valid");
  const failed = await add(token);
  await raw.query("alter table channels drop constraint refused");
  const keyArgs = ["--name", "k", "--scopes", "webhooks:manage", "--json"];
  const { key } = (await herald(["key", "create", "--client", client, ...keyArgs])).json;
  const headers = { "x-svc-api-key": key };
  const listed = await call("GET", "/api/channels", { headers });
  await call("DELETE", `/api/channels/${added.json.channel_id}`, { headers });
  const commands = [added, refused, failed];
  t.same(
    commands.map(({ code }) => code),
    [0, 2, 1],
  );
  return [...commands.flatMap(({ out, err }) => [out, err]), listed.text];
}

/** Uses webhook tokens and messages: valid, invalid, and while the database rejects them; returns an output. */
async function useWebhooks(
  t: Test,
  { call, herald, raw, client, appSecret, pages: [, pageId] }: ChannelContext,
  secrets: Secrets,
): Promise<string[]> {
  const [ownToken, path, messageText] = [
    randomSecret("own-token"),
    randomSecret("path"),
    randomSecret("a-message"),
  ];
  secrets
    .set("own webhook token", ownToken)
    .set("secret in webhook_url", path)
    .set("message body", messageText);
  const keyArgs = ["--name", "k", "--scopes", "webhooks:manage", "--json"];
  const { key } = (await herald(["key", "create", "--client", client, ...keyArgs])).json;
  const headers = { "x-svc-api-key": key };
  const configure = (json: object) => call("PATCH", "/api/webhooks/config", { headers, json });
  await configure({ webhook_url: `https://127.0.0.1:1/${path}`, webhook_secret: ownToken });
  await configure({ webhook_secret: `${ownToken} ` });
  const configReply = await configure({ webhook_secret: ownToken });
  await configure({ webhook_url: `http://127.0.0.1:1/${path}` });
  t.equal((await call("POST", "/api/webhooks/test", { headers })).body.delivered, false);
  const generated = await call("POST", "/api/webhooks/config/generate-secret", {
    headers,
    json: { grace_minutes: 5 },
  });
  secrets.set("generated webhook token", generated.body.webhook_secret);
  await call("POST", "/api/webhooks/test", { headers });

  const channelArgs = ["--platform", "socialapp", "--page-id", pageId, "--token", "x"];
  await herald(["channel", "add", "--client", client, ...channelArgs]);
  const webhook = (mid: string) =>
    JSON.stringify({
      object: "page",
      entry: [{ id: pageId, messaging: [{ message: { mid, text: messageText } }] }],
    });
  const postSigned = (body: string, secret = appSecret) =>
    call("POST", "/platform/webhook", {
      raw: body,
      headers: { "x-hub-signature-256": signWebhook(body, secret) },
    });
  t.equal((await postSigned(webhook("m_1"))).status, 200);
  t.equal((await postSigned(webhook("m_2"), "another")).status, 401);
  t.equal((await postSigned(`${webhook("m_3")}!`)).status, 400);
  await raw.query("alter table events add constraint refused check (payload is null) not valid");
  t.equal((await postSigned(webhook("m_4"))).status, 500);
  await raw.query("alter table events drop constraint refused");
  return [configReply.text.replaceAll(path, "")];
}

/** Sends secrets in the wrong places: a caller's mistakes must not appear in the log either. */
async function misplaceSecrets(call: Call, secrets: Secrets, key: string) {
  const misplaced = randomSecret("misplaced");
  secrets.set("misplaced secret", misplaced);
  const headers = { "x-svc-api-key": key };
  for (const path of [
    `/api/auth/me?access_token=${misplaced}`,
    `/api/${misplaced}`,
    `/api/auth/me/${misplaced}?x=${misplaced}`,
    `/api/docs?token=${misplaced}`,
    `/%zz${misplaced}`,
  ])
    await call("GET", path, { headers });
  for (const raw of [
    `{"password": ${misplaced}}`,
    JSON.stringify({ [misplaced]: 1 }),
    JSON.stringify({ email: misplaced }),
  ])
    await call("POST", "/api/auth/login", { raw });
  await call("GET", "/api/auth/me", { headers: { authorization: `Bearer ${misplaced}` } });
  await call("GET", "/api/auth/me", { headers: { authorization: `Basic ${misplaced}` } });
}

/** Causes internal errors that contain statements, values and addresses. */
async function causeFaults(
  t: Test,
  call: Call,
  settings: Record<string, string>,
  login: { email: string; password: string },
) {
  const raw = await connectRawClient(t, settings.DATABASE_URL as string);
  await raw.query("alter table users rename column email to email_away");
  t.equal((await call("POST", "/api/auth/login", { json: login })).status, 500);
  await raw.query("alter table users rename column email_away to email");

  const url = new URL(settings.DATABASE_URL as string);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  const server = await connectRawClient(t, url.href);
  await server.query(`alter database ${name} allow_connections false`);
  await server.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
  t.equal((await call("POST", "/api/auth/login", { json: login })).status, 503);
  await server.query(`alter database ${name} allow_connections true`);
}

t.test("no log of any process contains a secret", async (t) => {
  const METRICS_TOKEN = randomSecret("metrics");
  const secretSettings = {
    METRICS_TOKEN,
    PLATFORM_APP_SECRET: randomSecret("app"),
    PLATFORM_VERIFY_TOKEN: randomSecret("verify"),
  };
  const settings = await testSettings(t, {
    ...secretSettings,
    CRON_MAINTENANCE: "* * * * * *",
    PRIVATE_DESTINATIONS: "127.0.0.0/8",
  });
  const { JWT_SECRET = "", ENCRYPTION_KEYS = "", DATABASE_URL = "", REDIS_URL = "" } = settings;
  const secrets: Secrets = new Map(
    Object.entries({ ...secretSettings, JWT_SECRET, encryption: ENCRYPTION_KEYS.split(":")[1] ?? "" }),
  );
  for (const [name, url] of Object.entries({ DATABASE_URL, REDIS_URL }))
    secrets.set(`password of ${name}`, new URL(url).password);

  const { address, web, dispatcher, scheduler } = await startProcesses(t, settings);
  const herald = createCommandRunner(t, settings);
  const call = createApiCall(address, productRoutes());
  const raw = await connectRawClient(t, DATABASE_URL);
  const { client, key, ...login } = await useCredentials(call, secrets, herald);
  const appSecret = secretSettings.PLATFORM_APP_SECRET;
  const context = { call, herald, raw, client, appSecret, pages: ["11", "12"] as const };
  const shownTexts = [
    ...(await useChannelToken(t, context, secrets)),
    ...(await useWebhooks(t, context, secrets)),
  ];
  await misplaceSecrets(call, secrets, key);
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  shownTexts.push((await call("GET", "/metrics", { headers })).text);
  await causeFaults(t, call, settings, login);
  const doctor = await herald(["doctor"]);
  await until("a cron job has run", () => scheduler.stdout().includes("cron.ran"));
  const processes = [web, dispatcher, scheduler];
  t.equal(await web.stop(), 0);
  for (const process of [dispatcher, scheduler]) await process.stop();

  const written = processes.map((process) => process.stdout() + process.stderr());
  for (const word of ["http.request", "http.failed"]) t.match(written[0], word);
  for (const log of written) t.match(log, "process.stopped");
  const everything = [...written, ...shownTexts, doctor.out, doctor.err].join("\n");
  t.equal(secrets.size, 21);
  t.ok([...secrets.values()].every((secret) => secret.length >= 8));
  for (const [kind, secret] of secrets)
    t.same(
      tracesOf(secret).filter((trace) => everything.includes(trace)),
      [],
      kind,
    );
});
