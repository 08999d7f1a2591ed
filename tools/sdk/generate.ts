import { type ApiDocument, type Operation, operationsOf } from "./operations.ts";
import { camelCase, declareType, docComment, indent, nameOf, pascalCase, type Schema } from "./typescript.ts";

/** The files of sdk/src/generated, by name. */
export function generateSdk(document: ApiDocument): Record<string, string> {
  const operations = operationsOf(document);
  return {
    "types.ts": generateTypes(document, operations),
    "operations.ts": generateOperations(document, operations),
  };
}

const NOTE = "// Generated from the API's OpenAPI document by `npm run sdk`: do not edit.\n";

/** Every component of the document, and the types that it defines inside operations. */
function generateTypes({ components }: ApiDocument, operations: readonly Operation[]): string {
  const inlined = operations.flatMap((operation) =>
    Object.values(namedTypes(operation)).filter(({ schema }) => nameOf(schema) === undefined),
  );
  const named = Object.entries(components.schemas).map(([name, schema]) => ({ name, schema }));
  return [NOTE, ...[...named, ...inlined].map(({ name, schema }) => declareType(name, schema))].join("\n");
}

interface NamedType {
  name: string;
  schema: Schema;
}

type Role = "query" | "body" | "reply" | "item";

/** The types that a method uses. One that is not a component is named after the operation. */
function namedTypes({ id, query, body, reply }: Operation): Partial<Record<Role, NamedType>> {
  const named = (schema: Schema, suffix: string): NamedType => ({
    name: nameOf(schema) ?? `${pascalCase(id)}${suffix}`,
    schema,
  });
  const isPage = "schema" in reply && reply.kind === "page";
  const item = isPage ? reply.schema.properties?.data?.items : undefined;
  return {
    ...(query ? { query: named(query, "Query") } : {}),
    ...(body?.kind === "json" ? { body: named(body.schema, "Body") } : {}),
    ...("schema" in reply ? { reply: named(reply.schema, isPage ? "Page" : "Reply") } : {}),
    ...(item ? { item: named(item, "Item") } : {}),
  };
}

/** One class per namespace, with a method per operation. */
function generateOperations({ tags }: ApiDocument, operations: readonly Operation[]): string {
  const namespaces = [...new Set(operations.map(({ namespace }) => namespace))];
  const classes = namespaces.map((namespace) => {
    const own = operations.filter((operation) => operation.namespace === namespace);
    const description = tags.find(({ name }) => name === own[0]?.tag)?.description;
    const methods = own.flatMap(methodsOf).map(writeMethod);
    const declaration = `export class ${pascalCase(namespace)}Operations extends Resource`;
    return `${docComment(description)}${declaration} {\n${indent(methods.join("\n\n"))}\n}\n`;
  });
  const types = operations.flatMap((operation) => Object.values(namedTypes(operation)));
  const names = [...new Set(types.map(({ name }) => name))].sort();
  return [
    NOTE,
    'import { path, Resource } from "../client.ts";',
    'import type { List } from "../list.ts";',
    'import type { FileContent, FileOptions, KeyedOptions, RequestOptions } from "../options.ts";',
    `import type {\n${names.map((name) => `  ${name},`).join("\n")}\n} from "./types.ts";\n`,
    classes.join("\n"),
  ].join("\n");
}

interface Method {
  operation: Operation;
  name: string;
  doc: string;
  parameters: readonly string[];
  returns: string;
  /** The function of the client that makes the request. */
  call: string;
  /** Fields of the request besides operation, method and path. */
  fields: readonly string[];
}

/** The methods of an operation: the request itself, its check with `validate_only`, and its form as CSV. */
function methodsOf(operation: Operation): Method[] {
  const main = mainMethod(operation);
  return [
    main,
    ...(operation.canValidate ? [validateMethod(main)] : []),
    ...(operation.hasCsv ? [csvMethod(main)] : []),
  ];
}

function mainMethod(operation: Operation): Method {
  const { summary, description, method, body, retries } = operation;
  const { query, reply, item } = namedTypes(operation);
  const shared = {
    operation,
    name: method,
    doc: [`${summary}.`, ...(description === undefined ? [] : [description])].join("\n\n"),
    parameters: [...inputsOf(operation), `options?: ${optionsOf(operation)}`],
    fields: [
      `retries: "${retries}"`,
      ...(query ? ["query"] : []),
      ...(body ? [body.kind === "json" ? "body" : "file"] : []),
      "options",
    ],
  };
  switch (operation.reply.kind) {
    case "page": {
      const types = `${item?.name}, ${reply?.name}`;
      const cursorIn = query ? "query" : "body";
      return { ...shared, returns: `List<${types}>`, call: `list<${types}>("${cursorIn}", ` };
    }
    case "json":
      return { ...shared, returns: `Promise<${reply?.name}>`, call: `json<${reply?.name}>(` };
    case "none":
      return { ...shared, returns: "Promise<void>", call: "empty(" };
    case "file":
      return { ...shared, returns: "Promise<Response>", call: `open({ accept: "*/*" }, ` };
  }
}

const optionsOf = ({ body, retries }: Operation): string => {
  if (body?.kind === "file") return "FileOptions";
  return retries === "keyed" ? "KeyedOptions" : "RequestOptions";
};

/** Path parameters, then the body or the query. No operation has both. */
function inputsOf(operation: Operation): string[] {
  const { id, pathParameters, query, body } = operation;
  if (query && body) throw new Error(`${id} has a query and a body: the SDK has no place for both`);
  const types = namedTypes(operation);
  const inPath = pathParameters.map((name) => `${camelCase(name)}: string`);
  if (body?.kind === "file") return [...inPath, "file: FileContent"];
  if (body) return [...inPath, `body: ${types.body?.name}${body.isRequired ? "" : " = {}"}`];
  if (query) return [...inPath, `query${query.required?.length ? "" : "?"}: ${types.query?.name}`];
  return inPath;
}

/** The check of a request changes nothing, so it may be repeated, and the API ignores an Idempotency-Key. */
function validateMethod({ operation, parameters, ...main }: Method): Method {
  const isCreate = main.name === "create";
  return {
    operation,
    name: isCreate ? "validate" : `validate${pascalCase(main.name)}`,
    doc: `Let the ad platform check the request of \`${main.name}\` without carrying it out.\n\nThe promise is rejected with the error that the request would get.`,
    parameters: [...parameters.slice(0, -1), "options?: RequestOptions"],
    returns: "Promise<void>",
    call: "check(",
    fields: ['retries: "repeatable"', "query: { validate_only: true }", "body", "options"],
  };
}

const csvMethod = (main: Method): Method => ({
  ...main,
  name: `${main.name}Csv`,
  doc: `${main.doc.split("\n")[0]?.replace(/\.$/, "")}, as CSV.\n\nThe text has all rows, up to the API's limit.`,
  returns: "Promise<string>",
  call: 'text("text/csv", ',
});

function writeMethod({ operation, name, doc, parameters, returns, call, fields }: Method): string {
  const { id, verb, path, pathParameters } = operation;
  const written = path.replace(/\{(\w+)\}/g, (_, parameter: string) => `\${${camelCase(parameter)}}`);
  const target = pathParameters.length === 0 ? `"${path}"` : `path\`${written}\``;
  const request = [`operation: "${id}"`, `method: "${verb}"`, `path: ${target}`, ...fields].join(", ");
  const comment = docComment(`${doc}\n\n\`${verb} ${path}\``);
  return `${comment}${name}(${parameters.join(", ")}): ${returns} {\n  return this.client.${call}{ ${request} });\n}`;
}
