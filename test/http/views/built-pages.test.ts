import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t from "tap";
import { builtPageRoutes, preferredCoding } from "../../../src/http/views/built-pages.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { createApiCall } from "../../fixtures/http/api.ts";
import { startSmallApp } from "../../fixtures/http/small-app.ts";

const PAGE = {
  summary: "Show a page",
  pages: { "/page": "index.html", "/page/{id}": "index.html" },
  assetsPath: "/page/assets",
  headers: { "X-Of-The-Page": "yes" },
};

t.test("Accept-Encoding decides the coding", async (t) => {
  const rows: [acceptEncoding: string | undefined, coding: string][] = [
    [undefined, "identity"],
    ["", "identity"],
    ["br, gzip, deflate", "br"],
    ["gzip, deflate", "gzip"],
    ["GZIP", "gzip"],
    ["gzip;q=1.0, br;q=0.5", "gzip"],
    ["br;q=0, gzip;q=0.1", "gzip"],
    ["br;q=0, gzip;q=0", "identity"],
    ["*", "br"],
    ["*;q=0", "identity"],
    ["br;q=0, *;q=0.5", "gzip"],
    ["identity, gzip;q=0.5", "identity"],
    ["identity;q=0", "identity"],
    ["gzip;q=x", "identity"],
    ["deflate, zstd", "identity"],
    [",;q=,;;=", "identity"],
  ];
  for (const [acceptEncoding, coding] of rows)
    t.equal(preferredCoding(acceptEncoding), coding, String(acceptEncoding));
  t.equal(preferredCoding("br, gzip;q=0.1", ["gzip", "identity"]), "gzip", "a file without this form");
});

t.test("a built page", async (t) => {
  const folder = join(packageRoot(), "dist/docs");
  const routes = builtPageRoutes({ ...PAGE, name: "docs" });
  const { address } = await startSmallApp(t, routes);
  const call = createApiCall(address, routes);
  const script = readdirSync(join(folder, "assets")).find((name) => /^page-\w+\.js$/.test(name)) as string;

  t.test("is served in the coding that the caller prefers", async (t) => {
    for (const [path, file] of [
      ["/page", "index.html"],
      ["/page/42?x=y", "index.html"],
      [`/page/assets/${script}`, `assets/${script}`],
    ] as const)
      for (const [acceptEncoding, coding, ending] of [
        ["br, gzip", "br", ".br"],
        ["gzip", "gzip", ".gz"],
        ["identity", null, ""],
      ] as const) {
        const headers = { "accept-encoding": acceptEncoding };
        const [get, head] = [await call("GET", path, { headers }), await call("HEAD", path, { headers })];
        t.equal(get.text, readFileSync(join(folder, file), "utf8"), "fetch has decoded it");
        t.equal(head.text, "");
        for (const reply of [get, head]) {
          t.equal(reply.status, 200);
          t.equal(reply.headers.get("content-encoding"), coding);
          t.equal(reply.headers.get("vary"), "Accept-Encoding");
          const { length } = readFileSync(join(folder, file + ending));
          t.equal(reply.headers.get("content-length"), String(length));
        }
      }
  });

  t.test("has headers of its own; an asset has those of an immutable file", async (t) => {
    const [page, asset] = [await call("GET", "/page"), await call("GET", `/page/assets/${script}`)];
    t.equal(page.headers.get("x-of-the-page"), "yes");
    t.equal(page.headers.get("cache-control"), "no-store");
    t.equal(asset.headers.get("x-of-the-page"), null);
    t.equal(asset.headers.get("cache-control"), "public, max-age=31536000, immutable");
    t.equal(asset.headers.get("cross-origin-resource-policy"), "same-origin");
    t.equal(asset.headers.get("content-type"), "text/javascript; charset=utf-8");
    t.equal(asset.headers.get("x-content-type-options"), "nosniff");
  });

  t.test("has no other files", async (t) => {
    for (const name of ["page.js", `${script}.br`, "..%2Findex.html", "%2e%2e%2findex.html", "__proto__"]) {
      const reply = await call("GET", `/page/assets/${name}`);
      t.same([reply.status, reply.body.error], [404, "not_found"], name);
      t.equal(reply.headers.get("cache-control"), "no-store", "another process may have the file");
      t.equal(reply.headers.get("content-encoding"), null);
    }
  });
});

t.test("a page that is not built is an internal error, and the log says how to build it", async (t) => {
  const { address, lines } = await startSmallApp(t, builtPageRoutes({ ...PAGE, name: "nothing" }));
  t.equal((await fetch(`${address}/page`)).status, 500);
  t.match(String(lines.find(({ event }) => event === "http.failed")?.err), "npm run build creates");
});

t.test("the build names each asset after its content and compresses each file", async (t) => {
  for (const page of ["docs", "guides", "console"]) {
    const folder = join(packageRoot(), "dist", page);
    const [index, assets] = [
      readFileSync(join(folder, "index.html"), "utf8"),
      readdirSync(join(folder, "assets")),
    ];
    const linked = [...index.matchAll(/assets\/([^"]+)"/g)].map(([, name = ""]) => name);
    t.ok(linked.length > 2, page);
    t.same(
      linked.filter((name) => !assets.includes(name)),
      [],
    );
    for (const name of assets) t.match(name, /^[\w-]+-[0-9A-Z]{8}\.(js|css|svg|json|yml|png)(\.br|\.gz)?$/);
    const files = ["index.html", ...assets.map((name) => join("assets", name))].map((name) =>
      join(folder, name),
    );
    for (const file of files) {
      const content = readFileSync(file);
      if (file.endsWith(".br"))
        t.ok(brotliDecompressSync(content).equals(readFileSync(file.slice(0, -3))), file);
      if (file.endsWith(".gz")) t.ok(gunzipSync(content).equals(readFileSync(file.slice(0, -3))), file);
    }
  }
});
