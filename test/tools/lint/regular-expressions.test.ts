import { spawnSync } from "node:child_process";
import t from "tap";
import { packageRoot } from "../../../src/runtime/package-root.ts";

const REFUSED: readonly (readonly [source: string, problem: RegExp])[] = [
  ["export const a: RegExp = /(a|a)*b/;", /exponential time on .* in .*0\.ts$/],
  ["export const a = (text: string) => text.replace(/\\s+$/, '');", /^\/\\s\+\$\/ takes polynomial time/],
  ["export const a = /x(?=.*y)z*/;", /cannot be checked \(unsupported\), in .*2\.ts$/],
  ["export const a = (input: string) => new RegExp(input);", /3\.ts builds a regular expression from/],
  [`export const a = (input: string) => RegExp(\`^\${input}$\`);`, /4\.ts builds a regular expression from/],
  ["export const a = globalThis.RegExp;", /5\.ts builds a regular expression from/],
  ["export const a = new RegExp('^(a+)+$');", /exponential time on .* in .*6\.ts$/],
  ["export const a = (text: string, input: string) => text.match(input);", /7\.ts calls match\(\) with/],
  ["export const a = { type: 'string', pattern: '^a*a*$' };", /polynomial time on .* in .*8\.ts$/],
  [`export const a = (b: string) => ({ pattern: \`^\${b}$\` });`, /9\.ts has a pattern that is not constant/],
  ["export const a = { type: 'string', format: 'byte' };", /the format byte of ajv-formats/],
  [
    "const b = 'x'; export const a = (b: string) => new RegExp(b);\nexport { b as c };",
    /11\.ts builds a regular expression from/,
  ],
];

const REFUSED_JSX = "export const a = () => <p>{/(b|b)*c/.source}</p>;";

const ACCEPTED = [
  "export const a = /^a+b*$/;",
  "export const a = (value: unknown) => value instanceof RegExp;",
  `const DIGITS = '[0-9]+'; export const a = new RegExp(\`^\${DIGITS}$\`, 'i');`,
  "const WORD = /\\w+/g; export const a = (text: string) => text.matchAll(WORD);",
  "export const a = { type: 'string', format: 'date-time', pattern: '^a*$' };",
  "// /(a|a)*b/\nexport const a = '/(a|a)*b/';",
];

const toFiles = (texts: readonly string[], ending: string) =>
  Object.fromEntries(texts.map((text, index) => [`${index}${ending}`, text]));

t.test(
  "an expression that is not linear, or is built from anything but constants, is refused, and no other",
  async (t) => {
    const refused = REFUSED.map(([source]) => source);
    // One process checks both: the check of the sources in every run shows that it ends with 0 without problems.
    const folder = t.testdir({
      ...toFiles(refused, ".ts"),
      ...toFiles([REFUSED_JSX], ".tsx"),
      ...toFiles(ACCEPTED, "-accepted.ts"),
    });
    const options = { cwd: packageRoot(), encoding: "utf8" } as const;
    const { status, stderr } = spawnSync(
      process.execPath,
      ["tools/lint/regular-expressions.js", folder],
      options,
    );
    const problems = stderr.split("\n").filter(Boolean);
    t.equal(status, 1);
    for (const [source, problem] of [
      ...REFUSED,
      [REFUSED_JSX, /exponential time on .* in .*0\.tsx$/] as const,
    ])
      t.ok(
        problems.some((line) => problem.test(line)),
        source,
      );
    t.equal(problems.length, REFUSED.length + 1, problems.join("\n"));
  },
);
