import type { Ground } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { forget, refusedTemplate, type Template, templatesOf } from "./template.ts";

/** By name all translations, with an id (or several) beside the name only these. */
export function deleteTemplates(ground: Ground, { node, params }: Call): unknown {
  const name = params.requiredText("name");
  const ids = [params.text("hsm_id"), ...(params.words("hsm_ids") ?? [])].filter((id) => id !== undefined);
  const chosen = templatesOf(ground, node)
    .filter((template) => template.name === name)
    .filter(({ id }) => ids.length === 0 || ids.includes(id));
  if (chosen.length === 0 || chosen.length < new Set(ids).size) throw unknownTemplate(name);
  for (const template of chosen) forget(ground, template);
  return { success: true };
}

const unknownTemplate = (name: Template["name"]) =>
  refusedTemplate(
    2593002,
    "Message template not found",
    `The template "${name}" does not exist, or was deleted before.`,
  );
