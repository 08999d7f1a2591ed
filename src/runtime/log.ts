import { writeSync } from "node:fs";
import { type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config/config.ts";
import { describeError } from "./errors.ts";
import type { LogEvent } from "./log-events.ts";

export type Fields = Record<string, unknown>;

type LogLine = (event: LogEvent, fields?: Fields) => void;

/** Writes one wide line per piece of work: the event's name, ids first, duration last. */
export interface Log {
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  error: LogLine;
}

interface LogOptions extends Pick<Config, "LOG_LEVEL" | "LOG_FORMAT"> {
  process: string;
  /** Receives the lines; standard output by default. */
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

/** Writes logfmt directly: converting pino's JSON would cost several times as much per line. */
function logfmtLog({ level: minLevel, name, write }: LogSink): Log {
  const { pid } = process;
  const writerFor = (level: Level) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minLevel)) return () => {};
    return (event: LogEvent, fields: Fields = {}) => {
      const time = new Date().toISOString();
      write(`${toLogfmt({ time, level, process: name, pid, event, ...arrange(level, fields) })}\n`);
    };
  };
  return {
    debug: writerFor("debug"),
    info: writerFor("info"),
    warn: writerFor("warn"),
    error: writerFor("error"),
  };
}

/** Puts the error, which call sites give as `err`, and the duration last. An error has its stack at level error only. */
function arrange(level: Level, { err, ms, ...fields }: Fields): Fields {
  if (err !== undefined) Object.assign(fields, describeError(err, { withStack: level === "error" }));
  if (ms !== undefined) fields.ms = ms;
  return fields;
}

function pinoLog(format: "json" | "pretty", { level, name, write }: LogSink): Log {
  const options = {
    level,
    base: { process: name, pid: process.pid },
    messageKey: "event",
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
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
  (event: LogEvent, fields: Fields = {}): void =>
    logger[level](arrange(level, fields), event);

type Write = (line: string) => void;

/** Collects the lines of one turn of the event loop into one write: under load, a write costs more than a line. */
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
      process.once("exit", flush); // keeps the last lines of a process that exits in this turn
    }
    lines += line;
  };
}

/** Converts pino's JSON lines to the configured format. */
const FORMATS: Record<"json" | "pretty", (write: Write) => Write> = {
  json: (write) => write,
  pretty: (write) => {
    const format = pretty.prettyFactory({
      messageKey: "event",
      ignore: "pid,hostname,process",
      translateTime: "SYS:HH:MM:ss.l",
      singleLine: true,
      errorLikeObjectKeys: ["err_stack"],
    });
    return (line) => write(format(line));
  },
};

/** Formats a log record as `key=value` pairs on one line; nested values become compact JSON. */
export function toLogfmt(record: Record<string, unknown>): string {
  let line = "";
  for (const key in record) {
    const value = record[key];
    if (value !== undefined && value !== null)
      line += `${line === "" ? "" : " "}${key}=${formatValue(value)}`;
  }
  return line;
}

function formatValue(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : textOf(value);
  return text === "" || UNSAFE.test(text) ? JSON.stringify(text) : text;
}

const textOf = (value: unknown): string =>
  value instanceof Date
    ? value.toISOString()
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);

// A quote, an equals sign, white space or a control character would break the line for a parser.
const UNSAFE = /["=\s\p{Cc}]/u;

/** Logs the first failure and the first success after it: one line each per outage, however many attempts it has. */
export interface OutageLogger {
  failed(error: unknown): void;
  recovered(): void;
}

export function createOutageLogger(
  log: Log,
  { unavailable, recovered }: { unavailable: LogEvent; recovered: LogEvent },
  fields: Fields = {},
): OutageLogger {
  let isUnavailable = false;
  return {
    failed(error) {
      if (!isUnavailable) log.warn(unavailable, { ...fields, err: error });
      isUnavailable = true;
    },
    recovered() {
      if (isUnavailable) log.info(recovered, fields);
      isUnavailable = false;
    },
  };
}

const RETRY_DELAY_MS = 10;
const MAX_RETRIES = 100;

/**
 * Writes the text before it returns, for a thread that is about to kill the process. Gives up after 100 retries: a reader
 * that does not read must not keep the process alive.
 */
export function writeFully(fd: number, text: string, maxRetries = MAX_RETRIES): void {
  let rest = Buffer.from(text);
  for (let retries = 0; rest.length > 0 && retries < maxRetries; ) {
    const written = tryWrite(fd, rest);
    rest = rest.subarray(written);
    if (written > 0) continue;
    retries += 1;
    sleep(RETRY_DELAY_MS);
  }
}

/** Returns the number of bytes written; 0 while a non-blocking pipe is full. */
function tryWrite(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as { code?: unknown }).code === "EAGAIN") return 0;
    throw error;
  }
}

const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
