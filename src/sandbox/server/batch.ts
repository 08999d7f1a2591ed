import type { Outcome } from "../faults/effects.ts";
import type { ReceivedRequest } from "../records/records.ts";
import { Reply } from "../wire/call.ts";
import { invalidParameter } from "../wire/graph-error.ts";
import type { SandboxRequest } from "./route.ts";

const MAX_CALLS = 50;

export const isBatch = ({ method, url }: Pick<ReceivedRequest, "method" | "url">): boolean =>
  method === "POST" && url.pathname === "/";

/** Answers several calls in one request. Each is handled, recorded and met by faults like a request of its own. */
export async function answerBatch(
  request: SandboxRequest,
  handle: (request: ReceivedRequest) => Promise<Outcome>,
): Promise<Reply> {
  const calls = request.params.list("batch") ?? [];
  if (calls.length === 0) throw invalidParameter("The parameter batch must be a list of calls");
  if (calls.length > MAX_CALLS)
    throw invalidParameter(`Too many requests in batch message. Maximum batch size is ${MAX_CALLS}`);
  const requests = calls.map((call) => toRequest(call, request));
  return new Reply(await Promise.all(requests.map(async (one) => toPart(await handle(one)))));
}

/** The calls use the token and proof of the request that contains them. */
function toRequest(call: unknown, { url, headers, params }: SandboxRequest): ReceivedRequest {
  const { method = "GET", relative_url, body = "" } = (call ?? {}) as Record<string, unknown>;
  const path = String(relative_url);
  if (!URL.canParse(path, url.origin)) throw invalidRelativeUrl();
  const target = new URL(path, url.origin);
  if (!/^\/v\d/.test(target.pathname)) throw invalidRelativeUrl();
  const proof = params.text("appsecret_proof");
  if (proof !== undefined && !target.searchParams.has("appsecret_proof"))
    target.searchParams.set("appsecret_proof", proof);
  return {
    method: String(method),
    url: target,
    headers: { authorization: headers.authorization, "content-type": "application/x-www-form-urlencoded" },
    body: Buffer.from(String(body)),
  };
}

const invalidRelativeUrl = () => invalidParameter("A call of the batch has no valid relative_url");

/** A call without a reply is null. */
function toPart(outcome: Outcome): unknown {
  if (!outcome) return null;
  const { status: code, headers, body } = outcome;
  return {
    code,
    headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    body: Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body),
  };
}
