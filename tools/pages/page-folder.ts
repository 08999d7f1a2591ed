/**
 * Writes pages for browsers as folders of dist/: HTML files, and assets/ with the files that they load. The name of an
 * asset contains a hash of its content, and each file has its compressed forms beside it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

export const FOR_BROWSERS = {
  bundle: true,
  minify: true,
  platform: "browser",
  // Browsers of the last five years; newer syntax in the sources is translated for them.
  target: ["chrome87", "edge88", "firefox85", "safari14.1"],
  format: "iife",
  charset: "utf8",
  logLevel: "warning",
} as const satisfies BuildOptions;

interface Asset {
  /** Its name with the hash. */
  hashedName: string;
  content: Buffer;
}

/** The files of assets/, by the names that pages use for them. */
export type Assets = Map<string, Asset>;

export function addAsset(assets: Assets, name: string, content: Buffer): Asset {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 8).toUpperCase();
  const extension = extname(name);
  const asset = { hashedName: `${basename(name, extension)}-${hash}${extension}`, content };
  const other = assets.get(name);
  if (other && !other.content.equals(content)) throw new Error(`two different assets have the name ${name}`);
  assets.set(name, asset);
  return asset;
}

export function hashedName(assets: Assets, name: string): string {
  const asset = assets.get(name);
  if (!asset) throw new Error(`a page names assets/${name}, which is not built`);
  return asset.hashedName;
}

/** Bundles scripts and styles. Pages name the entry points; the scripts name their other parts. */
export async function bundleAssets(entryPoints: string[], options: BuildOptions = {}): Promise<Assets> {
  const { outputFiles, metafile } = await build({
    ...FOR_BROWSERS,
    ...options,
    entryPoints,
    outdir: "assets",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false,
  });
  return new Map(
    outputFiles.map(({ path, contents }) => {
      const hashedName = basename(path);
      const { entryPoint = "" } = metafile.outputs[`assets/${hashedName}`] ?? {};
      const name = entryPoints.includes(entryPoint)
        ? hashedName.replace(/-[0-9A-Z]{8}(?=\.\w+$)/, "")
        : hashedName;
      return [name, { hashedName, content: Buffer.from(contents) }];
    }),
  );
}

/** Writes the pages, by their paths in the folder, and the assets; deletes the files of earlier builds. */
export async function writePageFolder(
  folder: string,
  pages: ReadonlyMap<string, string>,
  assets: Assets,
): Promise<void> {
  const files = new Map([
    ...[...pages].map(([path, page]) => [join(folder, path), Buffer.from(page)] as const),
    ...[...assets.values()].map(
      (asset) => [join(folder, "assets", asset.hashedName), asset.content] as const,
    ),
  ]);
  const written = await Promise.all([...files].map(([file, content]) => writeForms(file, content)));
  deleteOthers(folder, new Set(written.flat()));
}

const LARGE_FILE_BYTES = 200_000;

/** The best quality takes seconds for a large file, and three times as long as the next one for the pages of all guides. */
function brotliQuality(file: string, { length }: Buffer): number {
  if (length > LARGE_FILE_BYTES) return 9;
  return extname(file) === ".html" ? 10 : zlib.BROTLI_MAX_QUALITY;
}

type Compress = (content: Buffer, file: string) => Promise<Buffer>;

const COMPRESSIONS: Record<string, Compress> = {
  br: (content, file) =>
    promisify(brotliCompress)(content, {
      params: {
        [zlib.BROTLI_PARAM_QUALITY]: brotliQuality(file, content),
        [zlib.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
  gz: (content) => promisify(gzip)(content, { level: zlib.Z_BEST_COMPRESSION }),
};

/**
 * Writes the file and its compressed forms that are smaller, and returns their names. Only files that change are written.
 * The file itself comes last: if the build is interrupted, the next one sees a changed file and compresses it again.
 */
async function writeForms(file: string, content: Buffer): Promise<string[]> {
  const isUnchanged = existsSync(file) && readFileSync(file).equals(content);
  mkdirSync(dirname(file), { recursive: true });
  const compressions = extname(file) === ".png" ? [] : Object.entries(COMPRESSIONS); // a PNG is compressed
  const forms = compressions.map(async ([ending, compress]) => {
    const form = `${file}.${ending}`;
    if (isUnchanged && existsSync(form)) return [form];
    const compressed = await compress(content, file);
    if (compressed.length >= content.length) return [];
    writeWhole(form, compressed);
    return [form];
  });
  const names = (await Promise.all(forms)).flat();
  if (!isUnchanged) writeWhole(file, content);
  return [file, ...names];
}

/** A process that reads the file meanwhile sees the old or the new content, never a part. */
function writeWhole(file: string, content: Buffer): void {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, file);
}

/** Deletes files of earlier builds, whose names had other hashes. */
function deleteOthers(folder: string, written: ReadonlySet<string>): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && !written.has(file)) rmSync(file);
  }
}
