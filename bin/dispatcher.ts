import "reflect-metadata";
import { container } from "tsyringe";
import { registerDispatcher } from "../src/composition/dispatcher.ts";
import { runProcess } from "../src/composition/process.ts";

process.exit(
  await runProcess(container, { name: "dispatcher", env: process.env, register: registerDispatcher }),
);
