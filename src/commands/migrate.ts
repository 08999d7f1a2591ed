import { applyMigrations } from "../store/database/migrations.ts";
import { type Command, defineCommand } from "./program/command.ts";

export const MIGRATE_COMMAND: Command = defineCommand({
  name: "migrate",
  summary: "Apply pending database migrations",
  options: {},
  run: async (_, { config }) => ({ applied: await applyMigrations(config.DATABASE_DIRECT_URL) }),
});
