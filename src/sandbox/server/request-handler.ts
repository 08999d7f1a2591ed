import type { Log } from "../../runtime/logging/log.ts";
import { type Befallen, type Effect, type Outcome, PREVENTING } from "../faults/effects.ts";
import { type CallFault, INBOX } from "../faults/fault.ts";
import type { Faults } from "../faults/faults.ts";
import { type Graph, tokenOf } from "../graph.ts";
import type { Tokens } from "../login/tokens.ts";
import type { Arrival, Fate, Records } from "../records/records.ts";
import type { Reply } from "../wire/call.ts";
import { Params } from "../wire/params.ts";
import { readParams } from "../wire/read-params.ts";
import { DoorError, refusal } from "./error-reply.ts";
import { type Door, type DoorRequest, findDoor } from "./route.ts";

export interface FrontParts {
  doors: readonly Door[];
  graph: Graph;
  tokens: Tokens;
  faults: Faults;
  effects: Record<CallFault, Effect>;
  /** What the platforms received, and what the demo client's backend did. */
  requests: Records;
  inbox: Records;
  log: Log;
}

/** Where every request comes in: it is kept, perhaps something befalls it, and a door or the graph answers. */
export type Front = (arrival: Arrival) => Promise<Outcome>;

export function createFront(parts: FrontParts): Front {
  const { tokens, faults, effects, requests, inbox, log } = parts;

  async function meet(arrival: Arrival, fate: Fate): Promise<Outcome> {
    const call = await read(arrival, parts);
    const { method, url, token } = call;
    const { kind = "app" } = tokens.read(token) ?? {};
    const fault = faults.takeForCall({ method, path: url.pathname, isMortal: kind !== "app" });
    if (!fault) return call.act();
    fate.fault = fault.kind;
    if (PREVENTING.includes(fault.kind)) fate.acted = false;
    return effects[fault.kind](fault, call);
  }

  return async (arrival) => {
    const place = placeOf(arrival);
    if (place === "doors") return (await read(arrival, parts)).act();
    const began = Date.now();
    const fate = (place === "inbox" ? inbox : requests).add(arrival);
    const outcome = await meet(arrival, fate);
    if (outcome) fate.status = outcome.status;
    if (place === "platform")
      log.info("sandbox.answered", { ...lineOf(arrival, outcome), ms: Date.now() - began });
    return outcome;
  };
}

const DOORS = /^\/_sandbox(\/|$)/;

function placeOf({ method, url: { pathname } }: Arrival): "platform" | "inbox" | "doors" {
  if (!DOORS.test(pathname)) return "platform";
  return method === "POST" && (pathname === INBOX || pathname.startsWith(`${INBOX}/`)) ? "inbox" : "doors";
}

/** The call behind a request. Nothing of it is done before `act`, and whatever is thrown then is an answer too. */
async function read(arrival: Arrival, parts: FrontParts): Promise<Befallen> {
  const { method, url, headers, body } = arrival;
  const { params, unreadable } = await readParams(url.searchParams, headers["content-type"], body).then(
    (params) => ({ params, unreadable: undefined }),
    (error: unknown) => ({ params: new Params(new Map(url.searchParams)), unreadable: error }),
  );
  const act = async (): Promise<Reply> => answer({ ...arrival, params, unreadable }, parts);
  return {
    method,
    url,
    token: tokenMeant(headers.authorization, params),
    act: () => act().catch((error) => refusal(error, parts.log)),
  };
}

/** A token that is asked about, or exchanged, is the one meant, not the app's that asks. */
function tokenMeant(authorization: string | undefined, params: Params): string {
  try {
    return (
      params.text("input_token") ?? params.text("fb_exchange_token") ?? tokenOf({ authorization, params })
    );
  } catch {
    return "";
  }
}

async function answer(request: DoorRequest, { doors, graph }: FrontParts): Promise<Reply> {
  const { method, url, headers, params } = request;
  const door = findDoor(doors, method, url.pathname);
  if (door) return door.answer(request);
  if (DOORS.test(url.pathname))
    throw new DoorError(404, `There is no ${method} ${url.pathname} here; GET /_sandbox lists the doors`);
  if (request.unreadable) throw request.unreadable;
  return graph.answer({ method, url, authorization: headers.authorization, params });
}

/** Secrets stand in queries and bodies, so neither is told. */
const lineOf = ({ method, url }: Arrival, outcome: Outcome) => ({
  method,
  path: url.pathname,
  status: outcome?.status ?? "dropped",
  code: (outcome?.body as { error?: { code?: number } } | undefined)?.error?.code,
});
