/**
 * Builds the pages for browsers into dist/. The route of the signup page inlines its files. The API reference and the
 * console are folders with index.html and assets: the name of an asset contains a hash of its content, and each file has
 * its compressed forms beside it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { build } from "esbuild";

const SIGNUP_PAGE = "src/resources/embed/page/browser";
const API_REFERENCE = "src/resources/docs/page";
const CONSOLE = "src/console";
const LOGO = "src/http/views/herald.svg";

const FOR_BROWSERS = {
  bundle: true,
  minify: true,
  platform: "browser",
  // Browsers of the last five years; newer syntax in the sources is translated for them.
  target: ["chrome87", "edge88", "firefox85", "safari14.1"],
  format: "iife",
  charset: "utf8",
  logLevel: "warning",
};

const PAGES = [
  {
    folder: "dist/docs",
    html: `${API_REFERENCE}/index.html`,
    entryPoints: [`${API_REFERENCE}/browser/page.ts`, `${API_REFERENCE}/page.css`],
    copies: [LOGO, "node_modules/swagger-ui-dist/swagger-ui-bundle.js"],
  },
  {
    folder: "dist/console",
    html: `${CONSOLE}/index.html`,
    entryPoints: [`${CONSOLE}/main.tsx`, `${CONSOLE}/main.css`],
    copies: [LOGO],
    options: {
      target: ["chrome111", "edge111", "firefox115", "safari16.4"],
      format: "esm",
      splitting: true,
      jsx: "automatic",
      jsxImportSource: "preact",
      legalComments: "none",
    },
  },
];

async function buildPage({ folder, html, entryPoints, copies, options }) {
  const outdir = join(folder, "assets");
  const { outputFiles, metafile } = await build({
    ...FOR_BROWSERS,
    ...options,
    entryPoints,
    outdir,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false,
  });
  const built = outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]);
  const copied = copies.map((file) => [hashedName(file), readFileSync(file)]);
  const assets = new Map([...built, ...copied]);
  const linked = Object.keys(metafile.outputs).filter((file) =>
    entryPoints.includes(metafile.outputs[file].entryPoint),
  );
  const names = [...linked.map((file) => basename(file)), ...copied.map(([name]) => name)];

  mkdirSync(outdir, { recursive: true });
  const index = Buffer.from(linkAssets(readFileSync(html, "utf8"), names));
  const written = await Promise.all([
    ...[...assets].map(([name, content]) => writeForms(join(outdir, name), content)),
    writeForms(join(folder, "index.html"), index),
  ]);
  deleteOthers(folder, new Set(written.flat()));
}

function hashedName(file) {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 8).toUpperCase();
  const extension = extname(file);
  return `${basename(file, extension)}-${hash}${extension}`;
}

/** Replaces `assets/main.js` by `assets/main-ABCDEFGH.js`. */
function linkAssets(html, names) {
  const hashedNames = new Map(names.map((name) => [name.replace(/-[0-9A-Z]{8}(?=\.\w+$)/, ""), name]));
  return html.replaceAll(/(?<=["/]assets\/)[^"]+(?=")/g, (name) => {
    const hashed = hashedNames.get(name);
    if (hashed === undefined) throw new Error(`index.html names assets/${name}, which is not built`);
    return hashed;
  });
}

const LARGE_FILE_BYTES = 200_000;

/** The best brotli quality takes seconds for a large file. */
const brotliOptions = ({ length }) => ({
  params: {
    [zlib.BROTLI_PARAM_QUALITY]: length > LARGE_FILE_BYTES ? 9 : zlib.BROTLI_MAX_QUALITY,
    [zlib.BROTLI_PARAM_SIZE_HINT]: length,
  },
});

const COMPRESSIONS = {
  br: (content) => promisify(brotliCompress)(content, brotliOptions(content)),
  gz: (content) => promisify(gzip)(content, { level: zlib.Z_BEST_COMPRESSION }),
};

/**
 * Writes the file and its compressed forms that are smaller, and returns their names. Only files that change are written.
 * The file itself comes last: if the build is interrupted, the next one sees a changed file and compresses it again.
 */
async function writeForms(file, content) {
  const isUnchanged = existsSync(file) && readFileSync(file).equals(content);
  const forms = Object.entries(COMPRESSIONS).map(async ([ending, compress]) => {
    const form = `${file}.${ending}`;
    if (isUnchanged && existsSync(form)) return [form];
    const compressed = await compress(content);
    if (compressed.length >= content.length) return [];
    writeWhole(form, compressed);
    return [form];
  });
  const names = (await Promise.all(forms)).flat();
  if (!isUnchanged) writeWhole(file, content);
  return [file, ...names];
}

/** A process that reads the file meanwhile sees the old or the new content, never a part. */
function writeWhole(file, content) {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, file);
}

/** Deletes files of earlier builds, whose names had other hashes. */
function deleteOthers(folder, written) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !written.has(file)) rmSync(file);
  }
}

await build({
  ...FOR_BROWSERS,
  entryPoints: ["signup.ts", "callback.ts", "page.css"].map((name) => `${SIGNUP_PAGE}/${name}`),
  outdir: "dist/embed",
});
await Promise.all(PAGES.map(buildPage));
