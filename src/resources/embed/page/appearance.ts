import type { EmbedTheme } from "../../../schema/enumerations.ts";

/** How a page looks. */
export interface Appearance {
  scheme: Scheme;
  /** `#rrggbb`; null for the page's own colour. */
  accentColor: string | null;
}

/** `host`: light on a transparent background, in a frame. `system`: as the person's system, in a window of its own. */
export type Scheme = "light" | "dark" | "system" | "host";

/**
 * The scheme of a theme, by the Sec-Fetch-Dest header of the request. Browsers tell a frame the scheme of the system and
 * not that of a host page that declares none, so that `auto` in a frame is never dark.
 */
export function schemeOf(theme: EmbedTheme, destination: string | undefined): Scheme {
  if (theme !== "auto") return theme;
  return destination === "document" ? "system" : "host";
}

/** The media query of the dark colours, as the build writes it. */
const DARK_MEDIA = "(prefers-color-scheme:dark)";

interface SchemeParts {
  /** The content of `<meta name="color-scheme">`. A frame with another scheme than its host is not transparent. */
  colorScheme: string;
  /** Where the dark colours apply. */
  darkMedia: string;
}

export const SCHEMES: Readonly<Record<Scheme, SchemeParts>> = {
  light: { colorScheme: "light", darkMedia: "not all" },
  dark: { colorScheme: "dark", darkMedia: "all" },
  system: { colorScheme: "light dark", darkMedia: DARK_MEDIA },
  host: { colorScheme: "light", darkMedia: "not all" },
};

/** Applies the appearance to the page's style: its dark colours for this scheme, and its accent colour. */
export function applyAppearance(style: string, { scheme, accentColor }: Appearance): string {
  const accent =
    accentColor === null
      ? ""
      : `:root{--accent:${accentColor}}@media${DARK_MEDIA}{:root{--accent:${lighten(accentColor)}}}`;
  return (style + accent).replaceAll(`@media${DARK_MEDIA}`, `@media ${SCHEMES[scheme].darkMedia}`);
}

/** The least contrast of text, by WCAG 2. */
export const MIN_CONTRAST = 4.5;

export const WHITE = "#ffffff";

/** The lightest background of the dark scheme: `--paper` of tokens.css. */
const DARK_PAPER = "#161c23";

const LIGHTEN_STEPS = 20;

/** Mixes the colour with as little white as it needs to be read on a dark background. */
export function lighten(color: string): string {
  for (let step = 0; step < LIGHTEN_STEPS; step += 1) {
    const lighter = mix(color, WHITE, step / LIGHTEN_STEPS);
    if (contrast(lighter, DARK_PAPER) >= MIN_CONTRAST) return lighter;
  }
  return WHITE;
}

const channelsOf = (color: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

function mix(color: string, other: string, share: number): string {
  const others = channelsOf(other);
  const mixed = channelsOf(color).map((value, index) =>
    Math.round(value + ((others[index] as number) - value) * share),
  );
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The contrast ratio of two colours, from 1 to 21, by WCAG 2. */
export function contrast(color: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(color), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((value) => {
    const share = value / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
