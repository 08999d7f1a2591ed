import { chatInbound } from "../chat/inbound.ts";
import type { SandboxContext } from "../context.ts";
import { pageInbound } from "../pages/inbound.ts";
import type { InboundSource } from "./inbound-source.ts";

/** All platforms that receive messages. Add a new one here. */
const SOURCES: readonly ((context: SandboxContext) => InboundSource)[] = [chatInbound, pageInbound];

export const inboundSources = (context: SandboxContext): InboundSource[] =>
  SOURCES.map((source) => source(context));
