import { type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import type { Config } from "../config/config.ts";
import { toLogfmt } from "./logfmt.ts";
import { sourceStack } from "./source-stack.ts";

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

export function createLog({ LOG_LEVEL, LOG_FORMAT, process: name, write = toStdout() }: LogOptions): Log {
  const sink = { level: LOG_LEVEL, name, write };
  return LOG_FORMAT === "logfmt" ? logfmtLog(sink) : pinoLog(LOG_FORMAT, sink);
}

interface LogSink {
  level: Config["LOG_LEVEL"];
  name: string;
  write: Write;
}

type Level = keyof Log;

const LEVELS: readonly string[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** The form of production, made at once: read from JSON again, a line would cost several times as much. */
function logfmtLog({ level: minLevel, name, write }: LogSink): Log {
  const writerFor = (level: Level) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minLevel)) return () => {};
    return (event: string, { err, ...fields }: Fields = {}) => {
      const error = err === undefined ? {} : { err: describeError(err) };
      const time = new Date().toISOString();
      write(`${toLogfmt({ time, level, process: name, event, ...fields, ...error })}\n`);
    };
  };
  return {
    debug: writerFor("debug"),
    info: writerFor("info"),
    warn: writerFor("warn"),
    error: writerFor("error"),
  };
}

function pinoLog(format: "json" | "pretty", { level, name, write }: LogSink): Log {
  const options = {
    level,
    base: { process: name },
    messageKey: "event",
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  const logger = pino(options, { write: FORMATS[format](write) });
  return {
    debug: pinoWriter(logger, "debug"),
    info: pinoWriter(logger, "info"),
    warn: pinoWriter(logger, "warn"),
    error: pinoWriter(logger, "error"),
  };
}

const pinoWriter =
  (logger: Logger, level: Level) =>
  (event: string, fields: Fields = {}): void =>
    logger[level](fields, event);

type Write = (line: string) => void;

/** All lines of one turn of the loop in one write: under load a write for each would cost more than the line. */
function toStdout(): Write {
  let lines = "";
  const flush = () => {
    process.off("exit", flush);
    process.stdout.write(lines);
    lines = "";
  };
  return (line) => {
    if (lines === "") {
      setImmediate(flush);
      process.once("exit", flush); // whoever ends the process in this turn has said why in these lines
    }
    lines += line;
  };
}

/** How a line of JSON as pino makes it becomes what the operator reads. */
const FORMATS: Record<"json" | "pretty", (write: Write) => Write> = {
  json: (write) => write,
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
    stack: error.stack === undefined ? undefined : sourceStack(error.stack),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
