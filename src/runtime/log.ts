import { type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config.ts";
import { toLogfmt } from "./logfmt.ts";

export type Fields = Record<string, unknown>;

/** One wide line per unit of work: an event's name, its ids first, its duration last. */
export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
}

interface LogOptions extends Pick<Config, "LOG_LEVEL" | "LOG_FORMAT"> {
  process: string;
  /** Where the lines go; the process's standard output unless a test wants them. */
  write?: (line: string) => void;
}

export function createLog({ LOG_LEVEL, LOG_FORMAT, process: name, write = writeStdout }: LogOptions): Log {
  const options = {
    level: LOG_LEVEL,
    base: { process: name },
    messageKey: "event",
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  const logger = pino(options, { write: FORMATS[LOG_FORMAT](write) });
  return {
    debug: at(logger, "debug"),
    info: at(logger, "info"),
    warn: at(logger, "warn"),
    error: at(logger, "error"),
  };
}

const at =
  (logger: Logger, level: "debug" | "info" | "warn" | "error") =>
  (event: string, fields: Fields = {}): void =>
    logger[level](fields, event);

type Write = (line: string) => void;

const writeStdout: Write = (line) => void process.stdout.write(line);

/** How a line of JSON as pino makes it becomes what the operator reads. */
const FORMATS: Record<Config["LOG_FORMAT"], (write: Write) => Write> = {
  json: (write) => write,
  logfmt: (write) => (line) => write(`${toLogfmt(eventFirst(JSON.parse(line)))}\n`),
  pretty: (write) => {
    const format = pretty.prettyFactory({
      messageKey: "event",
      ignore: "pid,hostname,process",
      translateTime: "SYS:HH:MM:ss.l",
      singleLine: true,
      errorLikeObjectKeys: ["err"], // `error` is a word of ours
    });
    return (line) => write(format(line));
  },
};

/** pino writes the message last; a reader of plain lines wants to know first what happened. */
function eventFirst({ time, level, process: name, event, ...rest }: Fields): Fields {
  return { time, level, process: name, event, ...rest };
}

/**
 * An error as it may be logged: what it is and where it came from. Other properties stay out, for libraries hang
 * requests with their credentials, or rows with their contents, on the errors they throw.
 */
function describeError(error: unknown): Fields {
  if (!(error instanceof Error)) return { message: `thrown: ${typeof error}` };
  const code = (error as { code?: unknown }).code;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === "string" ? { code } : {}),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
