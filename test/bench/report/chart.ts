import type { BenchResult } from "../frame/results.ts";
import { formatRatio } from "./format.ts";

const [WIDTH, NAME_WIDTH, VALUE_WIDTH] = [960, 270, 250];
const [ROW_HEIGHT, TOP, BOTTOM] = [22, 60, 12];
/** The axis is logarithmic, because ratios are. Ratios outside end at its edge. */
const [LOWEST, HIGHEST] = [0.1, 100];
const GRID = [0.1, 0.3, 1, 3, 10, 30, 100];

const STYLE = `
  svg { color-scheme: light dark; background: #fff }
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-width: 1.5 } .target { stroke: #1f2328; stroke-width: 2 }
  .muted { fill: #59636e } .reached { fill: #1a7f37 } .missed { fill: #cf222e } .open { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117 }
    text { fill: #f0f6fc }
    .grid { stroke: #3d444d } .one { stroke: #9198a1 } .target { stroke: #f0f6fc }
    .muted { fill: #9198a1 } .reached { fill: #3fb950 } .missed { fill: #f85149 } .open { fill: #9198a1 }
  }`;

function toX(ratio: number): number {
  const limited = Math.min(Math.max(ratio, LOWEST), HIGHEST);
  const share = Math.log(limited / LOWEST) / Math.log(HIGHEST / LOWEST);
  return Math.round(NAME_WIDTH + share * (WIDTH - NAME_WIDTH - VALUE_WIDTH));
}

type Compared = BenchResult & { ratio: number };

const isCompared = (result: BenchResult): result is Compared => result.ratio !== null;

const classOf = ({ reached }: BenchResult): string =>
  reached === null ? "open" : reached ? "reached" : "missed";

function drawRow(result: Compared, index: number): string {
  const y = TOP + index * ROW_HEIGHT;
  const [from, to] = [Math.min(toX(1), toX(result.ratio)), Math.max(toX(1), toX(result.ratio))];
  const target = result.target === null ? undefined : toX(result.target);
  const required =
    result.target === null ? "" : `, target ${result.target}x${result.reached ? "" : " NOT REACHED"}`;
  return [
    `<text x="${NAME_WIDTH - 10}" y="${y + 15}" text-anchor="end">${result.name}</text>`,
    `<rect class="${classOf(result)}" x="${from}" y="${y + 4}" width="${Math.max(1, to - from)}" height="14"/>`,
    ...(target ? [`<line class="target" x1="${target}" x2="${target}" y1="${y + 1}" y2="${y + 21}"/>`] : []),
    `<text x="${WIDTH - VALUE_WIDTH + 8}" y="${y + 15}">${formatRatio(result.ratio)}<tspan class="muted">${required}</tspan></text>`,
  ].join("\n");
}

/** Draws the ratios as bars from 1, with a line at each target. Rows without a peer are in the table only. */
export function drawChart(results: readonly BenchResult[]): string {
  const rows = results.filter(isCompared);
  const height = TOP + rows.length * ROW_HEIGHT + BOTTOM;
  const grid = GRID.map((ratio) => {
    const x = toX(ratio);
    return `<line class="${ratio === 1 ? "one" : "grid"}" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${height - BOTTOM}"/>
<text class="muted" x="${x}" y="${TOP - 12}" text-anchor="middle">${ratio}x</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">Herald beside its peers: to the right of 1x Herald is better; the short lines are targets</title>`,
    `<style>${STYLE}\n</style>`,
    `<text x="10" y="18">Herald beside its peers. Right of 1x: Herald is better. Short lines: targets.</text>`,
    ...grid,
    ...rows.map(drawRow),
    "</svg>\n",
  ].join("\n");
}
