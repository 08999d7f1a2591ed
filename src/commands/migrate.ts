import { applyMigrations } from "../store/migrations.ts";
import { type Verb, verb } from "./verb.ts";

export const MIGRATE_VERB: Verb = verb({
  name: "migrate",
  summary: "Apply the migrations that the database lacks",
  options: {},
  run: async (_, { config }) => ({ applied: await applyMigrations(config.DATABASE_DIRECT_URL) }),
});
