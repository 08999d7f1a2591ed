import { applyMigrations } from "../store/database/migrations.ts";
import { type Verb, verb } from "./command.ts";

export const MIGRATE_VERB: Verb = verb({
  name: "migrate",
  summary: "Apply the migrations that the database lacks",
  options: {},
  run: async (_, { config }) => ({ applied: await applyMigrations(config.DATABASE_DIRECT_URL) }),
});
