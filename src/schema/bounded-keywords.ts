import { _, type Ajv2020, type CodeKeywordDefinition } from "ajv/dist/2020.js";

/**
 * Makes `pattern` and `format` skip a text that exceeds the schema's maxLength. The validator that collects all errors
 * would otherwise evaluate them on a text of any length after maxLength has refused it.
 */
export function boundTextKeywords(ajv: Ajv2020): void {
  for (const keyword of ["pattern", "format"]) {
    const builtIn = ajv.getKeyword(keyword) as CodeKeywordDefinition;
    ajv.removeKeyword(keyword);
    ajv.addKeyword({
      ...builtIn,
      code(context, ruleType) {
        const { maxLength } = context.parentSchema as { maxLength?: number };
        const evaluate = () => builtIn.code(context, ruleType);
        if (maxLength === undefined) return evaluate();
        const exceeds = context.gen.scopeValue("func", { ref: exceedsLength });
        context.gen.if(_`!${exceeds}(${context.data}, ${maxLength})`, evaluate);
      },
    });
  }
}

/** JSON Schema counts characters. A character has at most two UTF-16 units, so a much longer text need not be counted. */
const exceedsLength = (text: string, maxLength: number): boolean =>
  text.length > maxLength && (text.length > 2 * maxLength || [...text].length > maxLength);
