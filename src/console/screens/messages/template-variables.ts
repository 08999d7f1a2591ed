import type { TemplateDto } from "../../../../sdk/src/generated/types.ts";

/** A variable in a text of a template. */
export interface Variable {
  id: string;
  component: "header" | "body";
  /** The number or name between the braces. */
  label: string;
  /** The text that contains it. */
  text: string;
}

const COMPONENTS = ["header", "body"] as const;

/** The platform takes the first value for {{1}}, wherever it stands in the text. Names keep their places. */
const byNumber = (one: string, other: string): number => Number(one) - Number(other) || 0;

/** The variables in the header and the body, numbers in their order. Buttons and media are left to the API. */
export const variablesOf = ({ components = [] }: TemplateDto): Variable[] =>
  COMPONENTS.flatMap((component) => {
    const found = components.find(({ type }) => String(type).toLowerCase() === component);
    const text = typeof found?.text === "string" ? found.text : "";
    const labels = new Set([...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map((match) => match[1] as string));
    return [...labels]
      .sort(byNumber)
      .map((label) => ({ id: `${component} ${label}`, component, label, text }));
  });

/** The `components` of a message with these values; nothing for a template without variables. */
export function templateComponents(
  template: TemplateDto,
  values: Readonly<Record<string, string>>,
): { components?: object[] } {
  const variables = variablesOf(template);
  const components = COMPONENTS.flatMap((component) => {
    const own = variables.filter((variable) => variable.component === component);
    return own.length === 0
      ? []
      : [{ type: component, parameters: own.map((variable) => toParameter(variable, values)) }];
  });
  return components.length === 0 ? {} : { components };
}

const toParameter = ({ id, label }: Variable, values: Readonly<Record<string, string>>) => ({
  type: "text",
  ...(/^\d+$/.test(label) ? {} : { parameter_name: label }),
  text: values[id] ?? "",
});
