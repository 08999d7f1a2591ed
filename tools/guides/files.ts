import { existsSync, readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { type Assets, addAsset } from "../pages/page-folder.ts";

/** A file of docs/ that a document shows or links, as an asset. */
export interface GuideFile {
  href: string;
  /** The size of an image. */
  width?: number;
  height?: number;
}

interface FileParts {
  root: string;
  assets: Assets;
  assetsPath: string;
}

const FOLDER = "/docs/";

/** The kinds of files that documents show or link. */
const ENDINGS = [".png", ".svg", ".json", ".yml"];

/** Returns a function that makes an asset of a file, and undefined of a path that has none. */
export const createFiles =
  ({ root, assets, assetsPath }: FileParts) =>
  (path: string): GuideFile | undefined => {
    if (!path.startsWith(FOLDER) || !ENDINGS.includes(extname(path)) || !existsSync(root + path))
      return undefined;
    const content = readFileSync(root + path);
    const { hashedName } = addAsset(assets, basename(path), content);
    return { href: `${assetsPath}/${hashedName}`, ...sizeOf(path, content) };
  };

function sizeOf(path: string, content: Buffer): Pick<GuideFile, "width" | "height"> {
  if (extname(path) === ".png") return { width: content.readUInt32BE(16), height: content.readUInt32BE(20) };
  const [, width, height] = /<svg [^>]*width="(\d+)" height="(\d+)"/.exec(content.toString()) ?? [];
  return width && height ? { width: Number(width), height: Number(height) } : {};
}
