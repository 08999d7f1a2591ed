/** The text of a number, where the browser tells it. */
interface Source {
  source?: string;
}

type Reviver = (key: string, value: unknown, context?: Source) => unknown;

/** Parses JSON. Integers that a number cannot hold become bigint: ids of platforms must not be rounded. */
export const parseJson = (text: string): unknown => JSON.parse(text, keepLongIntegers as Reviver);

const keepLongIntegers: Reviver = (_key, value, context) =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
    ? BigInt(context?.source as string)
    : value;

const { rawJSON = String } = JSON as { rawJSON?: (text: string) => unknown };

/** Writes what parseJson has read. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_key, child) => (typeof child === "bigint" ? rawJSON(String(child)) : child),
    indent,
  );
