import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { documentationOf, ERROR_CODES } from "../../../src/http/api-error.ts";
import { readGuideGroups } from "../../../src/resources/docs/guides.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { idsIn } from "../../fixtures/docs/page-ids.ts";
import { startApi } from "../../fixtures/http/api.ts";

/** URLs in a text that leave the service: with a scheme, or starting with two slashes. */
const foreignHosts = (text: string) => text.match(/(?:https?:|["'(])\/\/[^\s"')]+/g) ?? [];

t.test("API documentation", async (t) => {
  const api = await startApi(t, { settings: { PUBLIC_URL: "https://herald.customer.example" } });

  /** The paths that the reference view links to, relative to its own path. */
  const linkedFiles = async () => {
    const { text } = await api.call("GET", "/api/docs");
    const links = text.matchAll(/(?:src|href)="([^"#]+)"/g);
    return [...links].map(([, link = ""]) => new URL(link, `${api.address}/api/docs`).pathname);
  };
  const readAsset = async (name: RegExp) =>
    (await api.call("GET", (await linkedFiles()).find((file) => name.test(file)) as string)).text;

  t.test("the OpenAPI document names the public URL", async (t) => {
    const reply = await api.call("GET", "/api/openapi.json?from=generator");
    t.equal(reply.status, 200);
    t.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
    t.match(reply.body, { openapi: "3.1.0", servers: [{ url: "https://herald.customer.example" }] });
    t.ok(reply.body.paths["/healthz"]);
    t.ok(reply.body.paths["/api/openapi.json"]);
    t.notOk(reply.body.paths["/api/docs"]);
    t.equal((await api.call("GET", "/api/openapi.json")).text, reply.text);
  });

  t.test("the reference view may load only from this service", async (t) => {
    const reply = await api.call("GET", "/api/docs?from=mail");
    t.equal(reply.status, 200);
    t.match(reply.text, /<html lang="en">[\s\S]*<title>Herald API reference<\/title>/);
    t.equal(reply.headers.get("referrer-policy"), "no-referrer");
    const policy = reply.headers.get("content-security-policy") ?? "";
    t.match(policy, "default-src 'none'");
    t.match(policy, "script-src 'self';");
    t.match(policy, "frame-ancestors 'none'");
    t.notMatch(policy, /unsafe|https?:|\*/);
    t.notMatch(reply.text, /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/, "no inline script or style");
    t.same(foreignHosts(reply.text), []);
  });

  t.test("every file the reference view loads is served and cacheable", async (t) => {
    const files = await linkedFiles();
    const types: Record<string, string> = {};
    for (const pathname of files) {
      const reply = await api.call("GET", pathname);
      t.equal(reply.status, 200, pathname);
      t.ok(reply.text.length > 100, pathname);
      types[
        pathname
          .split("/")
          .at(-1)
          ?.replace(/-\w{8}\./, ".") as string
      ] = reply.headers.get("content-type") ?? "";
      if (pathname.startsWith("/api/docs/"))
        t.equal(reply.headers.get("cache-control"), "public, max-age=31536000, immutable");
    }
    t.match(types, {
      "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
      "page.css": "text/css; charset=utf-8",
      "page.js": "text/javascript; charset=utf-8",
      "herald.svg": "image/svg+xml",
    });
  });

  t.test("the root URL redirects to the reference view", async (t) => {
    const reply = await api.call("GET", "/?utm=x");
    t.equal(reply.status, 302);
    t.equal(reply.headers.get("location"), "/api/docs");
  });

  t.test("Herald's own files name no other host", async (t) => {
    t.same(foreignHosts(await readAsset(/page-\w+\.js$/)), []);
    const style = await readAsset(/page-\w+\.css$/);
    // Swagger UI's icons name the SVG namespace, which is not loaded.
    t.same(new Set(foreignHosts(style).map((url) => new URL(url).hostname)), new Set(["www.w3.org"]));
  });

  t.test("llms.txt is short and links to documents that exist", async (t) => {
    const reply = await api.call("GET", "/llms.txt?from=model");
    t.equal(reply.status, 200);
    t.equal(reply.headers.get("content-type"), "text/plain; charset=utf-8");
    t.match(reply.text, /^# Herald\n\n> Herald is /);
    t.match(reply.text, "x-svc-api-key");
    t.ok(reply.text.length < 5_000);
    const links = [...reply.text.matchAll(/\]\(https:\/\/herald\.customer\.example([^)]+)\): \S/g)].map(
      ([, path = ""]) => path,
    );
    const groups = readGuideGroups().filter(({ title }) => title !== "Operate");
    t.same(links, [
      ...["/api/openapi.json", "/api/docs", "/docs/"],
      ...groups.flatMap(({ guides }) => guides.map(({ path }) => path)),
    ]);
    for (const { title } of groups) t.match(reply.text, `\n## ${title}\n`);
    for (const path of links) t.equal((await api.call("GET", path)).status, 200, path);
  });

  t.test("the Markdown of a guide is served as it is in the repository", async (t) => {
    const reply = await api.call("GET", "/docs/guides/receiving.md");
    t.equal(reply.headers.get("content-type"), "text/markdown; charset=utf-8");
    t.equal(reply.text, readFileSync(join(packageRoot(), "docs/guides/receiving.md"), "utf8"));
    t.equal((await api.call("GET", "/docs/guides/../../package.json")).status, 404);
    t.equal((await api.call("GET", "/docs/guides/%2e%2e%2f%2e%2e%2fpackage.json")).status, 404);
  });

  t.test("an error names a guide section that exists", async (t) => {
    const undocumented = ERROR_CODES.filter((code) => documentationOf(code) === undefined);
    t.same(undocumented, ["invalid_verify_token"], "only platforms get this code");
    for (const code of ERROR_CODES) {
      const [path = "", anchor = ""] = documentationOf(code)?.split("#") ?? [];
      if (path === "") continue;
      const guide = await api.call("GET", path);
      t.equal(guide.headers.get("content-type"), "text/html; charset=utf-8", path);
      t.ok(idsIn(guide.text).includes(anchor), `${code}: ${path}#${anchor}`);
    }
  });

  t.test("HEAD has the same content-length as GET", async (t) => {
    for (const path of ["/api/openapi.json", "/api/docs", ...(await linkedFiles()), "/llms.txt"]) {
      const [head, get] = [await api.call("HEAD", path), await api.call("GET", path)];
      t.equal(head.status, 200);
      t.equal(head.text, "");
      t.equal(head.headers.get("content-length"), get.headers.get("content-length"));
    }
  });
});
