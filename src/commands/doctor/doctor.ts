import { type Config, inspectSettings } from "../../runtime/config/config.ts";
import { type Environment, SETTINGS, type Setting } from "../../runtime/config/settings.ts";
import { createDatabase } from "../../store/database/database.ts";
import { type Command, defineCommand, notRunningHint } from "../command-line/command.ts";
import { examineIdentityProvider, examinePlatforms, examineWeb } from "./addresses.ts";
import { examineClock, examinePostgres, examineTransactions, type Finding, failed, ok } from "./checks.ts";
import { examineRedis } from "./redis.ts";

interface DoctorResult {
  healthy: boolean;
  findings: Finding[];
}

export const DOCTOR_COMMAND: Command = defineCommand({
  name: "doctor",
  summary:
    "Check settings, Postgres, its writes, Redis, migrations, secrets, API keys, workers, hold, queue rows, clock, transactions, web and platforms, and explain how to fix problems",
  options: {},
  async run(_, { env, settingsFile }): Promise<DoctorResult> {
    const findings = (await examine(env)).map((finding) => withStartHint(finding, settingsFile));
    return { healthy: findings.every(({ status }) => status !== "failed"), findings };
  },
  show: ({ healthy, findings }) =>
    [
      ...findings.map(formatFinding),
      "",
      healthy ? describeHealth(findings) : "Fix the failed checks first.",
    ].join("\n"),
  isFailure: ({ healthy }) => !healthy,
});

function describeHealth(findings: readonly Finding[]): string {
  const warnings = findings.filter(({ status }) => status === "warning").length;
  return warnings === 0 ? "Herald can run." : `Herald can run. Warnings: ${warnings}.`;
}

/** A private server that does not respond is started by npm start; its address is not to be corrected. */
function withStartHint(finding: Finding, settingsFile: string | null): Finding {
  const isServer = finding.check === "postgres" || finding.check === "redis";
  if (settingsFile === null || !isServer || finding.status !== "failed") return finding;
  return { ...finding, fix: notRunningHint(settingsFile) };
}

/** Runs every check whose settings are valid. */
async function examine(env: Environment): Promise<Finding[]> {
  const { config, problems } = inspectSettings(env);
  const settings = problems.map(({ name, message }) => failed("settings", message, remedyFor(name)));
  const [servers, redis, web, platforms, identity] = await Promise.all([
    config.DATABASE_URL === undefined ? [] : examineDatabase(config),
    config.REDIS_URL === undefined
      ? []
      : examineRedis({ REDIS_TLS_VERIFY: true, ...config, REDIS_URL: config.REDIS_URL }),
    config.PUBLIC_URL === undefined ? [] : examineWeb(config.PUBLIC_URL),
    examinePlatforms(config),
    config.JWT_JWKS_URL === undefined ? [] : examineIdentityProvider(config.JWT_JWKS_URL),
  ]);
  const count = Object.keys(SETTINGS).length;
  return [
    settings.length > 0 ? settings : ok("settings", `all ${count} are valid`),
    servers,
    redis,
    web,
    platforms,
    identity,
  ].flat();
}

async function examineDatabase(config: Partial<Config>): Promise<Finding[]> {
  const { DATABASE_URL = "", DATABASE_PREPARED = true } = config;
  const db = createDatabase({ DATABASE_URL, DATABASE_PREPARED, DATABASE_POOL: 1 }, () => {}, {
    statementTimeoutMs: "endless",
  });
  try {
    const findings = await examinePostgres(db, config);
    return findings[0]?.status === "ok"
      ? [...findings, await examineClock(db), await examineTransactions(db)]
      : findings;
  } finally {
    await db.close();
  }
}

const remedyFor = (name: keyof typeof SETTINGS): string => {
  const { remedy, meaning }: Setting<unknown> = SETTINGS[name];
  return remedy ?? `set ${name} in the environment of every process: ${meaning}`;
};

const STATUS_LABELS = { ok: "ok     ", warning: "WARNING", failed: "FAILED " };

function formatFinding({ check, status, message, fix }: Finding): string {
  const line = `${STATUS_LABELS[status]}  ${check.padEnd(12)}  ${message}`;
  return fix === undefined ? line : `${line}\n${" ".repeat(23)}-> ${fix}`;
}
