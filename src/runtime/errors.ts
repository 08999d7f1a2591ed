import { existsSync, readFileSync } from "node:fs";
import module, { type SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** An error that is an expected answer: an attack causes many, and a stack would cost more than the answer. */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The message of the innermost cause: that of `fetch` only says that it failed. */
export function rootCauseMessage(error: unknown): string {
  const { message, code, cause } = (error ?? {}) as { message?: string; code?: string; cause?: unknown };
  return cause instanceof Error ? rootCauseMessage(cause) : message || code || "no reason given";
}

interface ErrorFields {
  err: string;
  err_code?: string;
  err_stack?: string;
}

/** Bounds the fields of an error whose causes are nested deeply or refer to each other. */
const MAX_CAUSES = 5;

/**
 * The log fields of an error: its message and code, on request its stack, each with those of its causes. Other
 * properties are left out: libraries attach requests with credentials and rows to their errors.
 */
export function describeError(thrown: unknown, { withStack }: { withStack: boolean }): ErrorFields {
  const errors = causeChain(thrown);
  if (errors.length === 0) return { err: `thrown: ${typeof thrown}` };
  const code = errors
    .map((error) => (error as { code?: unknown }).code)
    .find((one) => typeof one === "string");
  const stack = withStack ? errors.map(stackOf).join("\ncaused by: ") : undefined;
  return {
    err: joinMessages(errors),
    ...(code === undefined ? {} : { err_code: code as string }),
    ...(stack === undefined ? {} : { err_stack: stack }),
  };
}

function causeChain(thrown: unknown): Error[] {
  const errors: Error[] = [];
  for (let next = thrown; next instanceof Error && errors.length < MAX_CAUSES; next = next.cause)
    errors.push(next);
  return errors;
}

/** Leaves out the message of a cause that the message before it already quotes. */
const joinMessages = (errors: readonly Error[]): string =>
  errors
    .map(({ message }) => message)
    .filter((message, index, all) => index === 0 || !(all[index - 1] as string).includes(message))
    .join(": ");

const stackOf = (error: Error): string => sourceStack(error.stack ?? `${error.name}: ${error.message}`);

/** Source maps by built file; undefined for a file without one. */
const sourceMaps = new Map<string, SourceMap | undefined>();

function sourceMapOf(file: string): SourceMap | undefined {
  if (!sourceMaps.has(file)) {
    const map = `${file}.map`;
    const isBuilt = existsSync(map);
    sourceMaps.set(file, isBuilt ? new module.SourceMap(JSON.parse(readFileSync(map, "utf8"))) : undefined);
  }
  return sourceMaps.get(file);
}

/** A search for whole locations would start again at every slash of a long word, which takes quadratic time. */
const WORD = /[^\s()]+/g;
const LOCATION = /^((?:file:\/\/)?\/.+\.js):(\d+):(\d+)$/;

/**
 * Replaces the locations in a stack by those in the source files. Node's --enable-source-maps would slow down the whole
 * process by a tenth or more; this costs time only when an error is logged.
 */
export const sourceStack = (stack: string): string =>
  stack.replace(WORD, (location) => {
    const [, url, line, column] = LOCATION.exec(location) ?? [];
    if (url === undefined) return location;
    try {
      const file = url.startsWith("file:") ? fileURLToPath(url) : url;
      const entry = sourceMapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!entry || !("originalSource" in entry)) return location;
      const source = join(dirname(file), entry.originalSource);
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    } catch {
      return location; // a broken source map must not hide the error itself
    }
  });
