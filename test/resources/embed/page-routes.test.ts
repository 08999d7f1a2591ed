import t from "tap";
import { DatabaseUnavailable } from "../../../src/store/database/faults.ts";
import { ORIGIN, startSignupContext } from "../../fixtures/embed/signup.ts";
import { WABA_ID } from "../../fixtures/sandbox/assets.ts";

const UNKNOWN_TOKEN = "a".repeat(43);

t.test("the pages of embedded signups", async (t) => {
  const { api, makeHost } = await startSignupContext(t);
  const host = await makeHost();
  const other = "http://localhost:3000";
  const policyOf = (headers: Headers) =>
    new Map(
      headers
        .get("content-security-policy")
        ?.split("; ")
        .map((directive) => [directive.split(" ")[0] as string, directive.slice(directive.indexOf(" ") + 1)]),
    );
  const open = (token: string, headers: Record<string, string> = {}) =>
    api.call("GET", `/embed/${token}`, { headers });

  t.test(
    "the page may be framed by the allowed origins only, and a GET does not open the session",
    async (t) => {
      const page = await host.open({ allowed_origins: [ORIGIN, other] });
      const { status, headers, text } = await open(page.token);
      t.equal(status, 200);
      t.match(headers.get("content-type"), /^text\/html/);
      const policy = policyOf(headers);
      const nonce = /^'nonce-[\w-]{24}'$/;
      t.match(policy.get("script-src"), nonce);
      t.match(policy.get("style-src"), nonce);
      t.same(Object.fromEntries([...policy].filter(([name]) => !/^(script|style)-src$/.test(name))), {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": `${ORIGIN} ${other}`,
      });
      t.equal(headers.get("x-frame-options"), null);
      t.equal(headers.get("referrer-policy"), "no-referrer");
      t.equal(headers.get("cache-control"), "no-store");
      t.equal(headers.get("set-cookie"), null);
      t.notMatch((await open(page.token)).headers.get("content-security-policy"), policy.get("script-src"));
      t.ok(text.includes(page.id));
      t.equal((await page.read()).status, "pending");
      t.equal((await api.call("HEAD", `/embed/${page.token}`)).status, 200);
    },
  );

  t.test(
    "the link of an ended session answers 410 in the same frame, and an unknown one 404 in none",
    async (t) => {
      const statuses = ["completed", "expired", "revoked"];
      for (const status of statuses) {
        const page = await host.open();
        await api.db.query(
          "update embed_sessions set status = $2, result = case $2 when 'completed' then '{}' end where id = $1",
          [page.id, status],
        );
        const gone = await open(page.token);
        t.equal(gone.status, 410, status);
        t.match(gone.text, /<!doctype html>[\s\S]*data-error="session_gone"/);
        t.equal(policyOf(gone.headers).get("frame-ancestors"), ORIGIN);
        t.match(await open(page.token, { accept: "application/json" }), {
          status: 410,
          body: { error: "session_gone" },
        });
      }
      for (const token of [UNKNOWN_TOKEN, "x", "assets", `${"a".repeat(43)}%20`]) {
        const unknown = await open(token);
        t.equal(unknown.status, 404, token);
        t.match(unknown.text, /data-error="not_found"/);
        t.equal(policyOf(unknown.headers).get("frame-ancestors"), "'none'");
        t.equal(unknown.headers.get("referrer-policy"), "no-referrer");
      }
      t.match(await open(UNKNOWN_TOKEN, { accept: "application/json" }), { body: { error: "not_found" } });
    },
  );

  t.test("no page may frame the callback page, which changes nothing", async (t) => {
    const page = await host.open();
    const { state, code } = await page.decide("chatapp", { assets: [WABA_ID] });
    const query = `?state=${state}&code=${code}`;
    const { status, headers } = await api.call("GET", `/embed/callback${query}`);
    t.equal(status, 200);
    t.equal(policyOf(headers).get("frame-ancestors"), "'none'");
    t.equal(headers.get("referrer-policy"), "no-referrer");
    t.equal(headers.get("cache-control"), "no-store");
    t.match(await page.state(), { status: "opened", try: { phase: "dialog" } });
    t.equal((await page.report({ state: state as string, code: code as string })).body.status, "completed");
  });

  t.test(
    "every page of a session has its theme, language and accent colour, and the browser decides the rest",
    async (t) => {
      const page = await host.open({ theme: "dark", locale: "es", accent_color: "#7a1f5c" });
      const headers = { "accept-language": "pt", "sec-fetch-dest": "document" };
      const { state } = await page.decide("chatapp", { assets: [WABA_ID] });
      const showCallback = (query: string) => api.call("GET", `/embed/callback${query}`, { headers });
      const first = await open(page.token, headers);
      const popup = await showCallback(`?state=${state}`);
      await host.call("POST", `/api/embed/sessions/${page.id}/revoke`);
      const gone = await open(page.token, headers);
      for (const { text } of [first, popup, gone, await showCallback(`?state=${state}`)]) {
        t.match(text, '<html lang="es" data-scheme="dark">');
        t.match(text, "--accent:#7a1f5c");
      }
      for (const query of ["", "?state=forged", "?state=a&state=b", "?state[x]=1"])
        t.match((await showCallback(query)).text, '<html lang="pt" data-scheme="system">', query);
      const plain = await host.open();
      t.match((await open(plain.token, headers)).text, '<html lang="pt" data-scheme="system">');
      t.match(
        (await open(plain.token, { "sec-fetch-dest": "iframe" })).text,
        '<html lang="en" data-scheme="host">',
      );
    },
  );

  t.test("every reply of the page's API forbids caches and referrers", async (t) => {
    const page = await host.open();
    for (const reply of [
      await api.call("GET", `/embed/${page.token}/state`),
      await page.post("loaded"),
      await page.post("tries", { platform: "fax" }),
      await page.post("pin", { pin: "12" }),
      await page.report({ state: "forged", code: "c" }),
    ]) {
      t.equal(reply.headers.get("referrer-policy"), "no-referrer");
      t.equal(reply.headers.get("cache-control"), "no-store");
      t.equal(reply.headers.get("set-cookie"), null);
    }
  });

  t.test("the log names routes by pattern and contains no token, state or code", async (t) => {
    const page = await host.open();
    await open(page.token);
    const returned = await page.decide("chatapp", { assets: [WABA_ID] });
    await api.call("GET", `/embed/callback?${new URLSearchParams(returned)}`);
    await page.report(returned);
    const log = JSON.stringify(api.lines);
    for (const pattern of ["/embed/{token}", "/embed/{token}/tries", "/embed/callback"])
      t.ok(log.includes(`"${pattern}"`), pattern);
    for (const secret of [page.token, returned.state, returned.code]) t.notOk(log.includes(secret as string));
  });
});

t.test("the callback page is shown without Postgres, so that it can deliver the answer later", async (t) => {
  let isUnavailable = false;
  const { api, makeHost } = await startSignupContext(t, {
    database: (real) => ({
      ...real,
      query: (...args) =>
        isUnavailable ? Promise.reject(new DatabaseUnavailable(new Error("test"))) : real.query(...args),
    }),
  });
  const page = await (await makeHost()).open({ locale: "es" });
  const { state } = await page.decide("chatapp", { assets: [WABA_ID] });
  isUnavailable = true;
  const { status, text } = await api.call("GET", `/embed/callback?state=${state}`);
  t.equal(status, 200);
  t.match(text, '<html lang="en"');
  isUnavailable = false;
  t.match((await api.call("GET", `/embed/callback?state=${state}`)).text, '<html lang="es"');
});
