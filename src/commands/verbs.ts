import { type Command, defineCommand } from "./command-line/command.ts";

/**
 * The verbs of one module: what the list of commands shows, known without loading the module and the packages that it
 * imports.
 */
export interface VerbGroup {
  /** The names of its commands, such as `client create`, in their order. */
  names: readonly string[];
  /** The summary of a verb of one word; a group shows the words of its commands instead. */
  summary?: string;
  load(): Promise<readonly Command[]>;
}

const MIGRATE_COMMAND: Command = defineCommand({
  name: "migrate",
  summary: "Apply pending database migrations",
  options: {},
  async run(_, { config }) {
    const { applyMigrations } = await import("../store/database/migrations.ts");
    return { applied: await applyMigrations(config.DATABASE_DIRECT_URL) };
  },
});

/** The list of verbs: a new one adds its line here. */
export const VERB_GROUPS: readonly VerbGroup[] = [
  { names: ["migrate"], summary: MIGRATE_COMMAND.summary, load: async () => [MIGRATE_COMMAND] },
  {
    names: ["client create", "client list", "client delete"],
    load: async () => (await import("./client.ts")).CLIENT_COMMANDS,
  },
  {
    names: ["user create", "user list", "user password", "user disable", "user enable", "user token"],
    load: async () => (await import("./user.ts")).USER_COMMANDS,
  },
  {
    names: ["key create", "key list", "key revoke"],
    load: async () => (await import("./key.ts")).KEY_COMMANDS,
  },
  {
    names: ["channel add", "channel list", "channel disconnect"],
    load: async () => (await import("./channel.ts")).CHANNEL_COMMANDS,
  },
  { names: ["ad-account list"], load: async () => (await import("./ad-account.ts")).AD_ACCOUNT_COMMANDS },
  {
    names: ["terms publish", "terms current"],
    load: async () => (await import("./terms.ts")).TERMS_COMMANDS,
  },
  {
    names: ["events replay", "events list", "events show", "events retry"],
    load: async () => (await import("./events.ts")).EVENTS_COMMANDS,
  },
  { names: ["message show"], load: async () => (await import("./message.ts")).MESSAGE_COMMANDS },
  {
    names: ["batch send", "batch list", "batch show", "batch pause", "batch resume", "batch cancel"],
    load: async () => (await import("./batch.ts")).BATCH_COMMANDS,
  },
  { names: ["audit list"], load: async () => (await import("./client.ts")).AUDIT_COMMANDS },
  {
    names: ["queue status", "queue hold", "queue release", "queue discard-sends"],
    load: async () => (await import("./queue.ts")).QUEUE_COMMANDS,
  },
  {
    names: ["status"],
    summary:
      "Show on one screen the processes, the hold, what waits and failed, open breakers, channels that need a new token, and limits of the platforms",
    load: async () => [(await import("./status.ts")).STATUS_COMMAND],
  },
  { names: ["job list", "job run"], load: async () => (await import("./job.ts")).JOB_COMMANDS },
  { names: ["stats", "stats failures"], load: async () => (await import("./stats.ts")).STATS_COMMANDS },
  { names: ["secrets rotate"], load: async () => (await import("./secrets.ts")).SECRETS_COMMANDS },
  { names: ["insights export"], load: async () => (await import("./insights.ts")).INSIGHTS_COMMANDS },
  {
    names: ["doctor"],
    summary:
      "Check settings, Postgres, its writes, Redis, migrations, secrets, API keys, workers, hold, queue rows, clock, transactions, web and platforms, and explain how to fix problems",
    load: async () => [(await import("./doctor/doctor.ts")).DOCTOR_COMMAND],
  },
  {
    names: ["listen"],
    summary: "Show a client's events as they are recorded, and forward them to a server on this machine",
    load: async () => [(await import("./listen.ts")).LISTEN_COMMAND],
  },
  {
    names: ["trigger"],
    summary: "Send a test event of any type, or let the sandbox receive a message",
    load: async () => [(await import("./trigger.ts")).TRIGGER_COMMAND],
  },
  {
    names: ["demo"],
    summary: "Apply migrations and create or find the demo client; not in production",
    load: async () => [(await import("./demo.ts")).DEMO_COMMAND],
  },
];

/** The first word of a group's names. */
export const wordOf = ({ names }: VerbGroup): string => names[0]?.split(" ")[0] as string;

/** Loads every command, for the documentation. */
export const loadAllCommands = async (): Promise<Command[]> =>
  (await Promise.all(VERB_GROUPS.map(({ load }) => load()))).flat();
