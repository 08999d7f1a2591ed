import { type Logger, pino, stdTimeFunctions } from "pino";
import pretty from "pino-pretty";
import type { Config } from "../config/config.ts";
import { describeError } from "./describe-error.ts";
import type { LogEvent } from "./log-events.ts";
import { toLogfmt } from "./logfmt.ts";

export type Fields = Record<string, unknown>;

type LogLine = (event: LogEvent, fields?: Fields) => void;

/** Writes one wide line per unit of work: the event's name, ids first, duration last. */
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
