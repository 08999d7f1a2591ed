import { sourceStack } from "./source-stack.ts";

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
