import "reflect-metadata";
import { container } from "tsyringe";
import { registerScheduler } from "../src/composition/scheduler.ts";
import { runProcess } from "../src/composition/run-process.ts";

process.exit(await runProcess(container, { name: "scheduler", env: process.env, register: registerScheduler }));
