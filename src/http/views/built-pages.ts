import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import { packageRoot } from "../../runtime/package-root.ts";
import { anyQuery, object, Type } from "../../schema/types.ts";
import { notFound } from "../api-error.ts";
import { readRange } from "../reply.ts";
import { type Exchange, type Route, route } from "../route.ts";
import { HTML_REPLY, html } from "./view.ts";

/** Pages that a tool builds into a folder with HTML files and assets. index.html is one of them. */
interface BuiltPages {
  /** Its folder in dist/. */
  name: string;
  summary: string;
  /** The HTML file of each path. */
  pages: Readonly<Record<string, string>>;
  /** The path of the folder with the assets. */
  assetsPath: string;
  /** Headers of the pages. */
  headers: Readonly<Record<string, string>>;
  /** The content for each empty `<meta name="..." content="">` of index.html, by name. */
  metas?: Readonly<Record<string, string>>;
}

const INDEX = "index.html";

/** A response differs by this header of the request, so that caches keep one for each value. */
const VARY = { Vary: "Accept-Encoding" };

const ASSET_HEADERS = { ...VARY, "Cross-Origin-Resource-Policy": "same-origin" };

/** The name of an asset contains a hash of its content. */
const IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable";

/** The routes of the pages and of their assets. The files are read together at the first request and kept. */
export function builtPageRoutes({ pages, assetsPath, summary, headers, ...folder }: BuiltPages): Route[] {
  const read = once(() => readFolder(folder));
  const publicRoute = { method: "get", scope: "public", undocumented: true, query: anyQuery } as const;
  return [
    ...Object.entries(pages).map(([path, file]) =>
      route({
        ...publicRoute,
        path,
        summary,
        headers: { ...VARY, ...headers },
        reply: HTML_REPLY,
        async handle(exchange) {
          return encode((await read()).get(file) as PageFile, exchange);
        },
      }),
    ),
    route({
      ...publicRoute,
      path: `${assetsPath}/{name}`,
      summary: `Get a file of the page ${Object.keys(pages)[0]}`,
      params: object({ name: Type.String({ examples: ["main.js"] }) }),
      headers: ASSET_HEADERS,
      reply: { stream: true, mediaType: "application/octet-stream" },
      async handle(exchange) {
        const asset = (await read()).get(`assets/${exchange.params.name}`);
        if (!asset) throw notFound("file");
        exchange.setHeader("Cache-Control", IMMUTABLE_CACHE_CONTROL);
        const bytes = encode(asset, exchange);
        return { type: asset.mediaType, size: bytes.length, body: Readable.from([bytes]) };
      },
    }),
  ];
}

/** Content codings, the one with the smallest result first, and the endings of the files that are encoded so. */
const CODINGS = ["br", "gzip", "identity"] as const;
const ENDINGS = { br: ".br", gzip: ".gz", identity: "" };

type Coding = (typeof CODINGS)[number];

/** Returns the form of the file that the caller prefers, and sets its header. */
function encode({ forms }: PageFile, { header, setHeader }: Pick<Exchange, "header" | "setHeader">): Buffer {
  const coding = preferredCoding(header("accept-encoding"), [...forms.keys()]);
  if (coding !== "identity") setHeader("Content-Encoding", coding);
  return forms.get(coding) as Buffer;
}

/**
 * Returns the coding with the highest quality in an Accept-Encoding header, the first one at equal quality; `identity` when
 * the header allows none of them.
 */
export function preferredCoding(acceptEncoding = "", codings: readonly Coding[] = CODINGS): Coding {
  const ranges = acceptEncoding.split(",").map(readRange);
  const qualityOf = (name: string) => ranges.find(({ type }) => type === name)?.quality;
  let best: { coding: Coding; quality: number } = { coding: "identity", quality: 0 };
  for (const coding of codings) {
    const quality = qualityOf(coding) ?? qualityOf("*") ?? 0;
    if (quality > best.quality) best = { coding, quality };
  }
  return best.coding;
}

interface PageFile {
  mediaType: string;
  /** The content by coding, in the order of CODINGS. A file has only the compressed forms that are smaller. */
  forms: ReadonlyMap<Coding, Buffer>;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": HTML_REPLY.mediaType,
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".yml": "application/yaml; charset=utf-8",
};

type PageFiles = ReadonlyMap<string, PageFile>;

/** Reads the pages and assets, by their paths in the folder. */
async function readFolder({ name, metas = {} }: Pick<BuiltPages, "name" | "metas">): Promise<PageFiles> {
  const folder = join(packageRoot(), "dist", name);
  try {
    const files = new Map<string, PageFile>();
    const found = await readdir(folder, { recursive: true });
    for (const file of found) {
      const mediaType = MEDIA_TYPES[extname(file)];
      if (mediaType) files.set(file, { mediaType, forms: await readForms(folder, file, found) });
    }
    return files.set(INDEX, fillMetas(files.get(INDEX) as PageFile, metas));
  } catch (error) {
    throw new Error(`the pages are not built: npm run build creates ${folder}`, { cause: error });
  }
}

async function readForms(
  folder: string,
  file: string,
  found: readonly string[],
): Promise<Map<Coding, Buffer>> {
  const codings = CODINGS.filter((coding) => found.includes(file + ENDINGS[coding]));
  const contents = codings.map((coding) => readFile(join(folder, file + ENDINGS[coding])));
  return new Map((await Promise.all(contents)).map((content, at) => [codings[at] as Coding, content]));
}

/** The compressed forms have empty metas: a filled page is sent without compression, which would save about 1 KB. */
function fillMetas({ mediaType, forms }: PageFile, metas: Readonly<Record<string, string>>): PageFile {
  const empty = String(forms.get("identity"));
  let text = empty;
  for (const [name, content] of Object.entries(metas)) {
    const place = html`<meta name="${name}" content="">`.text;
    if (!text.includes(place)) throw new Error(`${INDEX} has no ${place}`);
    text = text.replace(place, () => html`<meta name="${name}" content="${content}">`.text);
  }
  return { mediaType, forms: text === empty ? forms : new Map([["identity", Buffer.from(text)]]) };
}

/** Caches the result of the first successful call; a failure is not cached. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined;
  return () => {
    cached ??= make().catch((error: unknown) => {
      cached = undefined;
      throw error;
    });
    return cached;
  };
}
