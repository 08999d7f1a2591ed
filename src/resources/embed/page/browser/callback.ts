import type { EmbedStatus } from "../../../../schema/enumerations.ts";
import type { CallbackData, CallbackTexts } from "../page-data.ts";
import { heading, paragraph } from "./controls.ts";
import { ApiProblem, isStatus, postJson, readData } from "./embed-api.ts";

/** Delays before each delivery. The code is valid for 30 s, so that later ones are useless. */
const DELIVERY_DELAYS_MS = [0, 1_000, 3_000, 6_000];

/** Picks what the dialog added to the address. Undefined for an address without an answer. */
function readAnswer(query: URLSearchParams): Record<string, string> | undefined {
  const names = query.has("code") ? ["state", "code"] : ["state", "error", "error_description"];
  const present = names.filter((name) => query.has(name));
  if (!query.has("state") || !(query.has("code") || query.has("error"))) return undefined;
  return Object.fromEntries(present.map((name) => [name, query.get(name) as string]));
}

/** Repeats what may not have arrived. A repetition that is refused did arrive the first time. */
async function deliver(answer: object): Promise<keyof CallbackTexts> {
  for (const delay of DELIVERY_DELAYS_MS) {
    await new Promise((resolve) => setTimeout(resolve, delay));
    const outcome = await attemptDelivery(answer);
    if (outcome === "refused") return delay === 0 ? outcome : "done";
    if (outcome !== "unreachable") return outcome;
  }
  return "unreachable";
}

async function attemptDelivery(answer: object): Promise<"done" | "refused" | "ended" | "unreachable"> {
  try {
    const { status } = (await (await postJson(location.pathname, answer)).json()) as { status: EmbedStatus };
    return status === "expired" || status === "revoked" ? "ended" : "done";
  } catch (problem) {
    if (isStatus(problem, 404, 410)) return "ended";
    const isRefused = problem instanceof ApiProblem && problem.status < 500 && problem.status !== 429;
    return isRefused ? "refused" : "unreachable";
  }
}

async function run(): Promise<void> {
  const { texts } = readData<CallbackData>();
  const page = document.getElementById("page") as HTMLElement;
  page.setAttribute("aria-live", "polite");
  const answer = readAnswer(new URLSearchParams(location.search));
  history.replaceState(null, "", location.pathname); // the code must not stay in the address
  const outcome = answer ? await deliver(answer) : "refused";
  page.replaceChildren(heading(texts[outcome].heading), paragraph(texts[outcome].body));
  // A window that a script did not open, or that has isolated itself, stays open with this text.
  if (outcome === "done") window.close();
}

void run();
