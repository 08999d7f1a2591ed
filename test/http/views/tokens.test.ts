import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";

const SRC = join(packageRoot(), "src");
const TOKENS = "http/views/tokens.css";
const textOf = (file: string) => readFileSync(join(SRC, file), "utf8");

const [light, dark] = textOf(TOKENS)
  .split("@media (prefers-color-scheme: dark)")
  .map(
    (text) =>
      new Map(
        [...text.matchAll(/--([\w-]+): (#[0-9a-f]+);/g)].map(([, name = "", value = ""]) => [name, value]),
      ),
  );

/** The relative luminance of a colour, as WCAG 2 defines it. */
function luminanceOf(colour: string): number {
  const digits = colour.length === 4 ? colour.slice(1).replace(/./g, "$&$&") : colour.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4]
    .map((at) => Number.parseInt(digits.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrastOf(one: string, other: string): number {
  const [dim = 0, bright = 0] = [luminanceOf(one), luminanceOf(other)].sort(
    (first, second) => first - second,
  );
  return (bright + 0.05) / (dim + 0.05);
}

const MIN_TEXT_CONTRAST = 4.5;
const MIN_CONTROL_CONTRAST = 3;

const TEXTS = ["ink", "soft", "brand", "accent", "good", "waiting", "bad"];
const GROUNDS = ["ground", "paper", "well", "chip"];

t.test("both colour schemes define the same colours, and every pair is readable", async (t) => {
  t.same([...(dark?.keys() ?? [])], [...(light?.keys() ?? [])]);
  const rows = [
    ...TEXTS.flatMap((text) => GROUNDS.map((ground) => [text, ground, MIN_TEXT_CONTRAST] as const)),
    ...["brand", "accent"].map((ground) => [`on-${ground}`, ground, MIN_TEXT_CONTRAST] as const),
    ["edge", "paper", MIN_CONTROL_CONTRAST] as const,
  ];
  for (const [scheme, colours] of Object.entries({ light, dark }))
    for (const [one, other, least] of rows) {
      const contrast = contrastOf(colours?.get(one) ?? "", colours?.get(other) ?? "");
      t.ok(contrast >= least, `${scheme}: ${one} on ${other} has ${contrast.toFixed(2)}`);
    }
});

t.test("no other stylesheet defines a colour, and none uses a property that is not defined", async (t) => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".css"),
  );
  t.ok(files.includes(TOKENS));
  const defined = new Set(files.flatMap((file) => namesIn(textOf(file), /(--[\w-]+):/g)));
  for (const file of [...files, "http/views/view.ts"]) {
    const style = textOf(file).replace(/<svg[\s\S]*<\/svg>/g, "");
    const undefinedNames = namesIn(style, /var\((--[\w-]+)/g).filter((name) => !defined.has(name));
    const colours = file === TOKENS ? [] : namesIn(style, /:[^;{}]*(#[0-9a-f]{3,8})\b[^;{}]*[;}]/gi);
    t.same([...undefinedNames, ...colours], [], file);
  }
});

function namesIn(style: string, pattern: RegExp): string[] {
  return [...style.matchAll(pattern)].map(([, name = ""]) => name);
}
