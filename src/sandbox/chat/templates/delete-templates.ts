import type { SandboxContext } from "../../context.ts";
import type { Call } from "../../wire/call.ts";
import { removeTemplate, type Template, templateError, templatesOf } from "./template.ts";

/** Deletes all translations of a name, or only those with the given ids. */
export function deleteTemplates(context: SandboxContext, { node, params }: Call): unknown {
  const name = params.requiredText("name");
  const ids = [params.text("hsm_id"), ...(params.words("hsm_ids") ?? [])].filter((id) => id !== undefined);
  const chosen = templatesOf(context, node)
    .filter((template) => template.name === name)
    .filter(({ id }) => ids.length === 0 || ids.includes(id));
  if (chosen.length === 0 || chosen.length < new Set(ids).size) throw unknownTemplate(name);
  for (const template of chosen) removeTemplate(context, template);
  return { success: true };
}

const unknownTemplate = (name: Template["name"]) =>
  templateError(
    2593002,
    "Message template not found",
    `The template "${name}" does not exist or has been deleted.`,
  );
