import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readGuideGroups } from "../../../src/resources/docs/guides.ts";
import { packageRoot } from "../../../src/runtime/package-root.ts";
import { idsIn } from "../../fixtures/docs/page-ids.ts";
import { startApi } from "../../fixtures/http/api.ts";

const GUIDES = readGuideGroups().flatMap(({ guides }) => guides);

/** The media types of files by their endings; paths without an ending are pages. */
const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  yml: "application/yaml; charset=utf-8",
};

const typeOf = (path: string) => TYPES[/\.(\w+)$/.exec(path)?.[1] ?? ""] ?? "text/html; charset=utf-8";

const linksOf = (page: string) =>
  [...page.matchAll(/ (?:href|src|data-index)="([^"]+)"/g)].map(([, link = ""]) =>
    link.replaceAll("&amp;", "&"),
  );

t.test("the navigation has each document for integrators and operators once", async (t) => {
  const markdownIn = (folder: string) =>
    readdirSync(join(packageRoot(), folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `/${folder}/${name}`);
  const documents = [
    ...markdownIn("docs/guides"),
    ...markdownIn("docs/operate"),
    ...["/docs/sandbox.md", "/docs/benchmarks.md"],
  ];
  t.same(GUIDES.map(({ path }) => path).sort(), documents.sort());
  for (const { path, title, summary } of GUIDES) {
    t.match(title, /^\w[\w ,]+$/, path);
    t.match(summary, /^[A-Z`][^[\]*\n]+[^.]$/, `${path}: a sentence without links and emphasis`);
  }
});

t.test("the pages of the guides", async (t) => {
  const api = await startApi(t);
  const pages = new Map<string, string>();

  /** Opens a page of the guides and all pages that it leads to, and returns the links of all. */
  async function crawl(path: string): Promise<string[]> {
    const { text } = await api.call("GET", path);
    pages.set(path, text);
    const links = linksOf(text).map((link) => new URL(link, api.address + path).href);
    for (const link of links) {
      const { origin, pathname } = new URL(link);
      const isGuide = origin === api.address && pathname.startsWith("/docs/") && !/\.\w+$/.test(pathname);
      if (isGuide && !pages.has(pathname)) links.push(...(await crawl(pathname)));
    }
    return links;
  }
  const links = [...new Set(await crawl("/docs/"))];

  t.test("lead to every document", async (t) => {
    t.same([...pages.keys()].sort(), ["/docs/", ...GUIDES.map(({ page }) => page)].sort());
  });

  t.test("have links that lead to a file of the expected type, and to an id on it", async (t) => {
    const [own, foreign] = [true, false].map((isOwn) =>
      links.filter((link) => link.startsWith(api.address) === isOwn),
    );
    for (const link of foreign ?? []) t.match(link, /^https:/);
    for (const pathname of new Set(own?.map((link) => new URL(link).pathname))) {
      const { status, headers } = await api.call("GET", pathname);
      t.same([status, headers.get("content-type")], [200, typeOf(pathname)], pathname);
    }
    for (const { pathname, hash } of own?.map((link) => new URL(link)) ?? [])
      if (hash !== "") t.ok(idsIn(pages.get(pathname) ?? "").includes(hash.slice(1)), pathname + hash);
  });

  t.test("have unique ids, one title and the names of their documents", async (t) => {
    for (const [path, page] of pages) {
      const ids = idsIn(page);
      t.equal(new Set(ids).size, ids.length, path);
      t.equal(page.match(/<h1/g)?.length, 1, path);
      t.match(page, /^<!doctype html>\n<html lang="en">/);
    }
    for (const { page, path, title, summary } of GUIDES) {
      const text = pages.get(page) ?? "";
      t.match(text, `<title>${title} · Herald</title>`);
      t.match(text, `<a href="${page}" aria-current="page">${title}</a>`);
      t.match(text, `<a href="${path}">Markdown</a>`);
      const description = /<meta name="description" content="([^"]+)">/.exec(text)?.[1];
      t.equal(description?.replaceAll("&#39;", "'"), summary.replaceAll("`", ""), path);
    }
  });

  t.test("contain no scripts, styles and comments of their own, and may load only from here", async (t) => {
    for (const [path, page] of pages) {
      t.notMatch(page, /<script(?![^>]* src=)|<style|<[^<>]*\s(?:on\w+|style|align)=|<!--/, path);
      const { headers } = await api.call("GET", path);
      t.match(headers.get("content-security-policy"), /^default-src 'none';.* img-src 'self';/);
      t.notMatch(headers.get("content-security-policy"), /unsafe|data:|https?:|\*/);
      t.equal(headers.get("referrer-policy"), "no-referrer");
    }
  });

  t.test("share an index of all headings and named rows, which is not part of them", async (t) => {
    const [path = ""] = new Set([...pages.values()].map((page) => /data-index="([^"]+)"/.exec(page)?.[1]));
    const { body } = await api.call("GET", path);
    const indexed = body.map(({ path, title }: Record<string, string>) => [path, title]);
    t.same(
      indexed,
      GUIDES.map(({ page, title }) => [page, title]),
    );
    for (const { path, places } of body) {
      const ids = [...(pages.get(path) ?? "").matchAll(/<(?:h[2-6]|tr) id="([^"]+)"/g)].map(([, id]) => id);
      t.same(places.map(({ id }: { id: string }) => id).sort(), ids.sort());
    }
    const errors = body.find(({ path }: { path: string }) => path === "/docs/guides/errors");
    const found = { id: "codes.channel_taken", text: "channel_taken" };
    t.match(
      errors.places.filter(({ text }: { text: string }) => text === found.text),
      [found],
    );
  });

  t.test("are the same without the slash of the overview", async (t) => {
    t.equal((await api.call("GET", "/docs")).text, pages.get("/docs/"));
  });

  t.test("have the Markdown beside them", async (t) => {
    for (const { path } of GUIDES) {
      const reply = await api.call("GET", path);
      t.equal(reply.headers.get("content-type"), "text/markdown; charset=utf-8");
      t.equal(reply.text, readFileSync(join(packageRoot(), path), "utf8"));
    }
  });

  t.test("an unknown guide is a page for a browser and an error body for a program", async (t) => {
    const ask = (accept?: string) =>
      api.call("GET", "/docs/guides/unknown", { headers: accept ? { accept } : {} });
    const page = await ask("text/html,application/xhtml+xml,*/*;q=0.8");
    t.same([page.status, page.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
    t.match(page.text, '<a href="/docs/">Guides</a>');
    for (const accept of [undefined, "*/*", "application/json"])
      t.match(await ask(accept), {
        status: 404,
        body: { error: "not_found", documentation: "/docs/guides/errors#objects-that-do-not-exist" },
      });
  });
});
