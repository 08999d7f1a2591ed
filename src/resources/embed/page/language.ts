import { EN } from "./texts/en.ts";
import { ES } from "./texts/es.ts";
import { PT } from "./texts/pt.ts";
import type { Texts } from "./texts/shape.ts";

const LANGUAGES = ["en", "pt", "es"] as const;
export type Language = (typeof LANGUAGES)[number];

export const TEXTS: Readonly<Record<Language, Texts>> = { en: EN, pt: PT, es: ES };

const DEFAULT_LANGUAGE: Language = "en";

/** Returns the offered language with the highest weight in an Accept-Language header; regions are ignored. */
export function languageOf(acceptLanguage: string | undefined): Language {
  let best: { language: Language; weight: number } | undefined;
  for (const range of (acceptLanguage ?? "").split(",")) {
    const [tag = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const language = LANGUAGES.find((candidate) => candidate === tag.split("-")[0]);
    const weight = weightOf(parameters);
    if (language && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? DEFAULT_LANGUAGE;
}

/** Returns 1 without `q`, and 0 for a `q` that is not a number. */
function weightOf(parameters: readonly string[]): number {
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
}
