import t from "tap";
import { route } from "../../src/http/route.ts";
import { HTML_REPLY } from "../../src/http/views/view.ts";
import { object, Type } from "../../src/schema/types.ts";
import { startApi } from "../fixtures/http/api.ts";

/** A view and its data, once below a view path and once elsewhere. */
const routes = () =>
  ["/console", "/elsewhere"].flatMap((place) => [
    route({
      method: "get",
      path: `${place}/{thing}`,
      scope: "public",
      summary: "Show a page",
      params: object({ thing: Type.String({ maxLength: 9, pattern: "^[^!]*$" }) }),
      reply: HTML_REPLY,
      handle({ params: { thing } }) {
        if (thing === "broken") throw new Error("an internal detail");
        return `<p>${thing.length}`;
      },
    }),
    route({
      method: "post",
      path: `${place}/{thing}/data`,
      scope: "public",
      summary: "Get the data of the page",
      params: object({ thing: Type.String({ maxLength: 9 }) }),
      reply: Type.Object({}),
      handle: () => ({}),
    }),
  ]);

/** The Accept header of Chromium for a page. */
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

t.test("errors of views", async (t) => {
  const api = await startApi(t, { routes });
  const ask = (path: string, accept?: string, method = "GET") =>
    api.call(method, path, { headers: { "x-request-id": "req-of-mine", ...(accept ? { accept } : {}) } });
  const kindOf = async (path: string, accept?: string, method = "GET") =>
    (await ask(path, accept, method)).headers.get("content-type")?.split(";")[0];
  const [PAGES, BODIES] = ["text/html", "application/json"];

  t.test("are HTML pages with the message and the request id", async (t) => {
    const rows: [string, string, number, string, string?][] = [
      ["GET", "/console/far-too-long", 400, "thing must have at most 9 characters"],
      ["GET", "/console/nothing/here", 404, "There is no page or endpoint at this address"],
      ["GET", "/console", 404, "There is no page or endpoint at this address"],
      ["GET", "/embed?x=y", 404, "There is no page or endpoint at this address"],
      ["GET", "/embed/unknown", 404, "There is no page or endpoint at this address"],
      ["GET", "/console/%zz", 400, "The path is not valid percent-encoding"],
      ["DELETE", "/console/thing", 405, "DELETE is not allowed here; allowed: GET, HEAD"],
      ["GET", "/console/broken", 500, "An internal error occurred"],
    ];
    for (const [method, path, status, message] of rows) {
      const reply = await ask(path, undefined, method);
      t.equal(reply.status, status, path);
      t.equal(reply.headers.get("content-type"), "text/html; charset=utf-8");
      t.match(reply.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
      t.equal(reply.headers.get("referrer-policy"), "no-referrer");
      t.equal(reply.headers.get("cache-control"), "no-store");
      t.equal(reply.headers.get("x-content-type-options"), "nosniff");
      t.equal(reply.headers.get("x-request-id"), "req-of-mine");
      t.match(reply.text, `<p>${message}.</p>`);
      t.match(reply.text, `>req-of-mine</span>`);
      t.notMatch(reply.text, "an internal detail");
    }
    t.equal((await ask("/console/thing", undefined, "DELETE")).headers.get("allow"), "GET, HEAD");
    const [head, get] = [await ask("/console/x/y", undefined, "HEAD"), await ask("/console/x/y")];
    t.equal(head.headers.get("content-length"), get.headers.get("content-length"));
  });

  t.test("escape everything from the URL and the headers", async (t) => {
    const headers = { "x-request-id": "<script>alert(1)</script>\"'" };
    const reply = await api.call("DELETE", "/console/thing", { headers });
    t.notMatch(reply.text, "<script>");
    t.match(reply.text, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;");
  });

  t.test("are JSON for callers that prefer JSON", async (t) => {
    const rows: [string, string | undefined][] = [
      ["*/*", PAGES],
      [BROWSER, PAGES],
      ["application/json", BODIES],
      ["APPLICATION/JSON ; charset=utf-8", BODIES],
      ["application/*", BODIES],
      ["application/json, text/plain, */*", BODIES],
      ["application/json;q=0.9, */*;q=0.8", BODIES],
      ["application/json, text/html", PAGES],
      ["text/html;q=0.5, application/json;q=0.6", BODIES],
      ["text/html;q=0.7, application/json;q=0.6", PAGES],
      ["text/html;q=0, */*", BODIES],
      ["*/*, application/json;q=0", PAGES],
      ["text/*;q=0.2, application/json;q=0.1", PAGES],
      ["image/png", PAGES],
      ["application/json;q=0", PAGES],
      ["application/json;q=x", PAGES],
      [",;q=,/;;=", PAGES],
    ];
    for (const [accept, kind] of rows)
      for (const path of ["/console/far-too-long", "/embed/x"])
        t.equal(await kindOf(path, accept), kind, accept);
    const reply = await ask("/embed/x", "application/json");
    t.match(reply.body, { error: "not_found", request_id: "req-of-mine" });
  });

  t.test("are JSON where the route does not serve a page", async (t) => {
    t.equal(await kindOf("/console/far-too-long/data", BROWSER, "POST"), BODIES, "a data route");
    for (const path of ["/api/nothing", "/consoles", "/embedded", "/elsewhere/x/y"])
      t.equal(await kindOf(path, BROWSER), BODIES, path);
  });

  t.test("are HTML pages outside the view paths only for callers that prefer HTML", async (t) => {
    t.equal(await kindOf("/elsewhere/far-too-long", BROWSER), PAGES);
    t.equal(await kindOf("/elsewhere/far-too-long", "*/*"), BODIES);
    t.equal(await kindOf("/elsewhere/far-too-long"), BODIES);
  });
});
