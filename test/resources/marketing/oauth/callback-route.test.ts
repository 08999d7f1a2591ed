import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { Test } from "tap";
import t from "tap";
import { exchangeCommand } from "../../../../src/resources/marketing/oauth/callback-route.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { curlProgram } from "../../../fixtures/servers/programs.ts";

const run = promisify(execFile);

const RETURN_PATH = "/console/oauth";

/** The URL the platform redirects a person to. */
const returnUrl = (answer: Record<string, string>) => `${RETURN_PATH}?${new URLSearchParams(answer)}`;

/** The text a browser shows for the markup. */
const visibleText = (markup: string) =>
  markup
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const commandIn = (text: string) =>
  visibleText(/<pre id="command"[^>]*>([\s\S]*?)<\/pre>/.exec(text)?.[1] as string);

/** Starts a server that returns the request it received; returns its URL. */
async function startEchoServer(t: Test) {
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { method, url, headers } = request;
    const body = JSON.parse(Buffer.concat(chunks).toString());
    response.end(JSON.stringify({ method, url, key: headers["x-svc-api-key"], body }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs the command like a person who pastes it into a shell. */
async function runCommand(command: string, shell: string) {
  const { stdout } = await run(shell, ["-c", command], { env: { ...process.env, API_KEY: "sk_test_1" } });
  return JSON.parse(stdout);
}

const HOSTILE_VALUES = [
  `</script><img src=x onerror=alert(1)>`,
  `</pre><script>alert(1)</script>&lt;b&gt;`,
  `"><svg onload=alert(1)>`,
  `'; touch /tmp/herald-was-here; echo '`,
  `$(id) \`id\` $API_KEY \${HOME} !! !x \\ \\\\ \\' \\" %s * ~ #`,
  `"}' -H 'x: y\n\r\t\u2028\u202e\u200b`,
  `Grüße 🎉 \u{1F469}\u200D\u{1F680} ação`,
  `@/etc/passwd`,
  `-o /tmp/herald-was-here`,
];

t.test("OAuth callback view", async (t) => {
  const address = await startEchoServer(t);
  const redirectUri = "https://herald.customer.example/it's/console/oauth";
  const api = await startApi(t, { settings: { PUBLIC_URL: address, OAUTH_REDIRECT_URI: redirectUri } });
  curlProgram();

  t.test("the view shows the exchange command and ignores unknown query parameters", async (t) => {
    const reply = await api.call(
      "GET",
      returnUrl({ code: "AQB-1_x", state: "s.1", granted_scopes: "a", x: "" }),
    );
    t.equal(reply.status, 200);
    t.match(reply.text, "<h1>Access granted</h1>");
    for (const word of ["within half a minute", "once", "available", '"status": "active"', "redirect_uri"])
      t.match(visibleText(reply.text), word);
    t.same(await runCommand(commandIn(reply.text), "sh"), {
      method: "POST",
      url: "/api/marketing/oauth/exchange",
      key: "sk_test_1",
      body: { code: "AQB-1_x", state: "s.1", redirect_uri: redirectUri },
    });
  });

  t.test("the view cannot load, send or be framed anywhere", async (t) => {
    const [view, refused, wrong] = [
      await api.call("GET", returnUrl({ code: "c", state: "s" })),
      await api.call("GET", returnUrl({ error: "access_denied" })),
      await api.call("GET", RETURN_PATH),
    ];
    for (const { headers } of [view, refused, wrong]) {
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ])
        t.match(policy, part);
      t.notMatch(policy, /unsafe|https?:|\*/);
      t.equal(headers.get("referrer-policy"), "no-referrer");
      t.equal(headers.get("cache-control"), "no-store");
      t.equal(headers.get("x-content-type-options"), "nosniff");
      t.equal(headers.get("content-type"), "text/html; charset=utf-8");
      t.equal(headers.get("set-cookie"), null);
    }
    const nonce = /script-src 'nonce-([\w-]{24})'/.exec(
      view.headers.get("content-security-policy") ?? "",
    )?.[1];
    t.match(view.text, `<script nonce="${nonce}">`);
    t.notMatch(view.text, /\son\w+=|\sstyle=|<script(?! nonce)/);
    t.notMatch(
      (await api.call("GET", returnUrl({ code: "c", state: "s" }))).text,
      nonce,
      "each response has a new nonce",
    );
    t.notMatch(
      wrong.headers.get("content-security-policy"),
      "script-src",
      "a view without a script allows none",
    );
  });

  t.test("hostile query values are escaped in the view and in the command", async (t) => {
    const expectedTags = (await api.call("GET", returnUrl({ code: "c", state: "s" }))).text.match(/<\w+/g);
    for (const value of HOSTILE_VALUES) {
      const reply = await api.call("GET", returnUrl({ code: value, state: `${value}.s` }));
      t.equal(reply.status, 200, value);
      t.same(reply.text.match(/<\w+/g), expectedTags, "the elements are unchanged");
      const command = commandIn(reply.text);
      t.match(command, /^[ -~\n]+$/, "only visible characters");
      const { body, key } = await runCommand(command, "sh");
      t.same(body, { code: value, state: `${value}.s`, redirect_uri: redirectUri });
      t.equal(key, "sk_test_1");
    }
  });

  t.test("a declined dialog shows that nothing was connected, with the platform's error", async (t) => {
    const words = "Permissions error </blockquote><script>alert(1)</script>";
    const denied = { error: "access_denied", error_reason: "user_denied", error_description: words };
    const reply = await api.call("GET", returnUrl({ ...denied, error_code: "200", state: "s.1" }));
    t.equal(reply.status, 200);
    t.match(reply.text, "<h1>Nothing was connected</h1>");
    for (const word of ["access_denied", "user_denied", words, `${address}/api/marketing/oauth/url`])
      t.match(visibleText(reply.text), word);
    t.notMatch(reply.text, /<script(?! nonce)|s\.1/);
    t.equal((await api.call("GET", returnUrl({ error: "server_error" }))).status, 200);
    t.match(
      (await api.call("GET", returnUrl({ error: "x", code: "c", state: "s" }))).text,
      "Nothing was connected",
    );
  });

  t.test("an invalid URL shows what is wrong with it", async (t) => {
    const rows: [string, string][] = [
      ["", "The ad platform's login redirects to this page with a code and a state"],
      ["?utm=x", "The ad platform's login redirects to this page with a code and a state"],
      ["?code=c", "state is missing"],
      ["?state=s", "code is missing"],
      ["?code=&state=s", "code must have 1 to 4096 characters"],
      ["?error=", "error must have 1 to 4096 characters"],
      ["?code=c&code=d&state=s", "code must be given only once"],
      ["?error=x&error_description=a&error_description=b", "error_description must be given only once"],
      [`?code=c&state=${"s".repeat(4_097)}`, "state must have 1 to 4096 characters"],
      ["?code=%00&state=s", "U+0000"],
    ];
    for (const [query, message] of rows) {
      const view = await api.call("GET", RETURN_PATH + query);
      t.equal(view.status, 400, query.slice(0, 50));
      t.match(visibleText(view.text), message);
      const json = await api.call("GET", RETURN_PATH + query, { headers: { accept: "application/json" } });
      t.match(json, { status: 400, body: { error: "validation_failed" } });
      t.match(json.body.message, message);
    }
    const longestValue = "s".repeat(4_096);
    t.equal((await api.call("GET", returnUrl({ code: longestValue, state: longestValue }))).status, 200);
  });

  t.test("code and state are not logged", async (t) => {
    const secret = "AQBneverlogged";
    for (const path of [
      returnUrl({ code: secret, state: secret }),
      `${RETURN_PATH}/${secret}?code=${secret}`,
    ])
      await api.call("GET", path);
    await api.call("GET", `${RETURN_PATH}?code=${secret}&code=${secret}&state=${secret}`);
    t.ok(api.lines.some(({ event, route }) => event === "http.request" && route === RETURN_PATH));
    t.notMatch(JSON.stringify(api.lines), secret);
  });
});

t.test("the command works the same in other shells", async (t) => {
  const address = await startEchoServer(t);
  curlProgram();
  const text = HOSTILE_VALUES.join(" ");
  const command = exchangeCommand({ publicUrl: address, code: text, state: text, redirectUri: address });
  for (const shell of ["bash", "zsh", "fish"]) {
    const found = await run("sh", ["-c", `command -v ${shell}`]).catch(() => undefined);
    if (found) t.match(await runCommand(command, shell), { body: { code: text, state: text } }, shell);
  }
});
