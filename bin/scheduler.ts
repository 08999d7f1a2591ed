import "reflect-metadata";
import { container } from "tsyringe";
import { runProcess } from "../src/composition/process.ts";
import { registerScheduler } from "../src/composition/scheduler.ts";

process.exit(
  await runProcess(container, { name: "scheduler", env: process.env, register: registerScheduler }),
);
