import t from "tap";
import { contrast, lighten, schemeOf } from "../../../../src/resources/embed/page/appearance.ts";

const DARK_BACKGROUNDS = ["#0f1419", "#161c23"];

t.test("contrast follows WCAG 2", async (t) => {
  const table: [string, string, number][] = [
    ["#000000", "#ffffff", 21],
    ["#FFFFFF", "#ffffff", 1],
    ["#777777", "#ffffff", 4.48],
    ["#ffff00", "#ffffff", 1.07],
    ["#0000ff", "#ffffff", 8.59],
  ];
  for (const [color, other, expected] of table) {
    t.ok(Math.abs(contrast(color, other) - expected) < 0.01, `${color}: ${contrast(color, other)}`);
    t.equal(contrast(other, color), contrast(color, other));
  }
});

t.test("a lightened colour can be read on dark backgrounds, and a light one stays as it is", async (t) => {
  for (const color of ["#000000", "#7a1f5c", "#1f5a9c", "#0000ff", "#767676", "#ff0000", "#161c23"]) {
    const lighter = lighten(color);
    t.match(lighter, /^#[0-9a-f]{6}$/);
    for (const background of DARK_BACKGROUNDS)
      t.ok(contrast(lighter, background) >= 4.5, `${color} ${lighter}`);
  }
  for (const color of ["#ffff00", "#ffffff", "#8fbcf0"]) t.equal(lighten(color), color);
});

t.test("auto is light in a frame, and follows the system in a window of its own", async (t) => {
  for (const destination of ["document", "iframe", undefined]) {
    t.equal(schemeOf("light", destination), "light");
    t.equal(schemeOf("dark", destination), "dark");
  }
  t.equal(schemeOf("auto", "document"), "system");
  t.equal(schemeOf("auto", "iframe"), "host");
  t.equal(schemeOf("auto", undefined), "host", "a browser without the header");
});
