import { randomInt } from "node:crypto";
import { SECOND } from "../../runtime/durations.ts";
import { GraphError } from "../wire/graph-error.ts";

interface Handshake {
  callbackUrl: string;
  verifyToken: string;
}

/** Verifies a webhook receiver: it must echo the challenge, which it does only for the right verify token. */
export async function verifyCallback({ callbackUrl, verifyToken }: Handshake): Promise<void> {
  const challenge = String(randomInt(1_000_000_000, 2_000_000_000));
  const url = new URL(callbackUrl);
  url.searchParams.set("hub.mode", "subscribe");
  url.searchParams.set("hub.challenge", challenge);
  url.searchParams.set("hub.verify_token", verifyToken);
  const { status, text } = await requestChallenge(url);
  if (status !== 200) throw notVerified(`HTTP Status Code = ${status}`);
  if (text !== challenge) throw notVerified("Response does not match challenge");
}

async function requestChallenge(url: URL): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(10 * SECOND) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    throw notVerified("No answer");
  }
}

const notVerified = (reason: string): GraphError =>
  new GraphError(2200, `(#2200) Callback verification failed with the following errors: ${reason}`);
