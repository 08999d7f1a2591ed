import { plainText } from "../../wire/plain-text.ts";
import type { Values } from "../values.ts";

const CONTENT_KINDS = ["link_data", "video_data", "photo_data", "text_data", "template_data"];

/** The post that a creative makes. */
export interface Story {
  page: string;
  kind: string;
  content: Values;
  /** The content, then the cards of its carousel. Each can name an image and a video. */
  parts: readonly Values[];
}

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the story; undefined unless it has a page and exactly one content with valid cards. */
export function storyOf(values: Values): Story | undefined {
  const spec = (values.object_story_spec ?? {}) as Values;
  const [kind = "", ...more] = CONTENT_KINDS.filter((name) => spec[name] !== undefined);
  const content = spec[kind];
  const page = plainText(spec.page_id ?? "");
  if (!/^\d+$/.test(page) || !isObject(content) || more.length > 0) return undefined;
  const cards = content.child_attachments ?? [];
  if (!Array.isArray(cards) || !cards.every(isObject)) return undefined;
  return { page, kind, content, parts: [content, ...cards] };
}
