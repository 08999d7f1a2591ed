import t from "tap";
import { consoleRoutes } from "../../../src/resources/console/routes.ts";
import { readConfig } from "../../../src/runtime/config/config.ts";
import { createUserTokens } from "../../../src/security/user-tokens.ts";
import { createApiCall, productRoutes } from "../../fixtures/http/api.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'; require-trusted-types-for 'script'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  vary: "Accept-Encoding",
};

t.test("the console", async (t) => {
  const routes = productRoutes().filter(({ scope }) => scope === "public");
  const { address } = await startSmallApp(t, routes);
  const call = createApiCall(address, routes);
  const page = await call("GET", "/console");

  t.test("is the same page at each of its paths, with headers that isolate it", async (t) => {
    for (const path of ["/console", "/console?tab=x", "/console/messages", "/console/messages/msg_1?q=%7B"]) {
      const reply = await call("GET", path);
      t.equal(reply.status, 200, path);
      t.equal(reply.text, page.text, path);
      for (const [name, value] of Object.entries(PAGE_HEADERS)) t.equal(reply.headers.get(name), value, path);
    }
    t.match(page.text, /^<!doctype html>[\s\S]*<\/html>\s*$/);
    t.notMatch(page.text, /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/, "no inline script or style");
  });

  t.test("leaves the page of the ad platform's login as it is", async (t) => {
    const reply = await call("GET", "/console/oauth?code=a&state=b");
    t.equal(reply.status, 200);
    t.match(reply.text, "/api/marketing/oauth/exchange");
    t.not(reply.text, page.text);
  });

  t.test("links only to assets that exist, by absolute paths", async (t) => {
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = ""]) => link);
    t.ok(links.some((link) => link.endsWith(".js")));
    t.ok(links.some((link) => link.endsWith(".css")));
    for (const link of links) {
      t.match(link, /^\/console\/assets\/[\w-]+-[0-9A-Z]{8}\.\w+$/);
      const reply = await call("GET", link);
      t.equal(reply.status, 200, link);
      t.equal(reply.headers.get("cache-control"), "public, max-age=31536000, immutable");
      t.equal(reply.headers.get("cross-origin-resource-policy"), "same-origin");
    }
  });

  t.test("answers HEAD without a body, and refuses other methods", async (t) => {
    const head = await call("HEAD", "/console/messages");
    t.equal(head.status, 200);
    t.equal(head.text, "");
    t.equal(head.headers.get("content-length"), page.headers.get("content-length"));
    for (const path of ["/console", "/console/messages", "/console/assets/main.js"]) {
      const refused = await call("POST", path);
      t.equal(refused.status, 405, path);
      t.equal(refused.headers.get("allow"), "GET, HEAD");
    }
  });

  t.test("answers errors as HTML unless the caller prefers JSON", async (t) => {
    const path = "/console/messages/msg_1/more";
    const [html, json] = [
      await call("GET", path),
      await call("GET", path, { headers: { accept: "application/json" } }),
    ];
    t.same([html.status, html.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
    t.same([json.status, json.body.error], [404, "not_found"]);
    const refused = await call("DELETE", "/console/messages");
    t.same([refused.status, refused.headers.get("content-type")], [405, "text/html; charset=utf-8"]);
  });
});

t.test("the page says how people sign in and whether the sandbox is in use", async (t) => {
  const { JWT_SECRET, ...shared } = unconnectedSettings();
  const keys = { JWT_JWKS_URL: "https://id.example/keys", JWT_AUDIENCE: "herald" };
  const provider = { ...keys, JWT_ISSUER: `https://id.example/?a="b"&c=<$&>'` };
  const escaped = "https://id.example/?a=&quot;b&quot;&amp;c=&lt;$&amp;&gt;&#39;";
  const elsewhere = { CHAT_PLATFORM_URL: "https://chat.example/v26.0" };
  const production = {
    ...{ NODE_ENV: "production", PUBLIC_URL: "https://herald.example", AD_PLATFORM_URL: "https://a.example" },
    ...{ AD_DIALOG_URL: "https://a.example", PHOTO_PLATFORM_URL: "https://p.example", PLATFORM_APP_ID: "2" },
    ...{ SOCIAL_PLATFORM_URL: "https://s.example", SIGNUP_DIALOG_URL: "https://a.example" },
    ...{ SIGNUP_CONFIG_ID: "1", PLATFORM_APP_SECRET: "3", PLATFORM_VERIFY_TOKEN: "4" },
  };
  const rows: [settings: Record<string, string>, identityProvider: string, sandbox: string][] = [
    [{ JWT_SECRET }, "", "true"],
    [{ JWT_SECRET, ...elsewhere }, "", ""],
    [{ JWT_SECRET, ...provider }, "", "true"],
    [{ ...provider, ...elsewhere }, escaped, ""],
    [{ JWT_SECRET, SANDBOX_PORT: "8123", CHAT_PLATFORM_URL: "http://localhost:8123/v26.0" }, "", "true"],
    [{ JWT_SECRET, ...production, CHAT_PLATFORM_URL: "https://localhost:8090/v26.0" }, "", ""],
  ];
  for (const [settings, identityProvider, sandbox] of rows) {
    const config = readConfig({ ...shared, ...settings });
    const routes = consoleRoutes({ settings: config, tokens: createUserTokens(config) });
    const { address } = await startSmallApp(t, routes);
    const { status, text } = await createApiCall(address, routes)("GET", "/console");
    t.equal(status, 200);
    t.match(text, `<meta name="herald-identity-provider" content="${identityProvider}">`);
    t.match(text, `<meta name="herald-sandbox" content="${sandbox}">`);
  }
});
