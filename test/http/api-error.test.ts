import t from "tap";
import { type ErrorCode, PLATFORM_REFUSALS, platformApiError } from "../../src/http/api-error.ts";
import { PlatformFailure } from "../../src/platforms/errors/failure.ts";
import type { TokenOwner, Verdict } from "../../src/platforms/errors/verdicts.ts";

type Answer = [status: number, code: ErrorCode, retryable: boolean];

const ANSWERS: Record<Exclude<Verdict, "token_dead">, Answer> = {
  permission: [403, "platform_permission_denied", false],
  policy: [403, "platform_policy_blocked", false],
  missing: [404, "platform_object_not_found", false],
  invalid: [400, "platform_invalid_request", false],
  throttled: [429, "platform_rate_limited", true],
  paused: [429, "platform_rate_limited", true],
  no_socket: [429, "rate_limited", true],
  transient: [502, "platform_unavailable", true],
  unreachable: [502, "platform_unavailable", true],
  disconnected: [502, "platform_unavailable", true],
  unusable_answer: [502, "platform_unavailable", true],
  timeout: [504, "platform_timeout", false],
  ambiguous: [504, "platform_timeout", false],
};

t.test("every verdict maps to a status, a code and whether a retry may succeed", async (t) => {
  for (const [verdict, [status, code, retryable]] of Object.entries(ANSWERS)) {
    const error = platformApiError(new PlatformFailure(verdict as Verdict, "No"));
    t.match(error, { status, code, message: "No", extra: { retryable }, headers: {} }, verdict);
    t.notOk("platform_error" in error.extra);
    t.ok(PLATFORM_REFUSALS.includes(code));
  }
});

t.test("the error code of a dead token depends on its owner", async (t) => {
  const codes: Record<TokenOwner, Answer> = {
    ad_account: [409, "ad_account_revoked", false],
    channel: [409, "channel_disconnected", false],
    none: [400, "platform_invalid_request", false],
  };
  for (const [owner, [status, code, retryable]] of Object.entries(codes)) {
    const failure = new PlatformFailure("token_dead", "Dead", { owner: owner as TokenOwner });
    t.match(platformApiError(failure), { status, code, extra: { retryable } }, owner);
  }
});

t.test("Retry-After is given in whole seconds, at least one", async (t) => {
  for (const [wait, seconds] of [
    [1, "1"],
    [60_000, "60"],
    [60_001, "61"],
  ] as const) {
    const error = platformApiError(new PlatformFailure("paused", "Wait", { wait }));
    t.same(error.headers, { "Retry-After": seconds });
  }
});

t.test("an error that cannot be retried says what to do instead", async (t) => {
  const platformError = { code: 2, message: "busy", transient: true, fields: [] };
  const failure = new PlatformFailure("transient", "Service busy.", { platformError });
  const error = platformApiError(failure, { hint: "start again", retryable: false });
  t.match(error, { code: "platform_unavailable", message: "Service busy: start again", cause: failure });
  t.same(error.extra, { retryable: false, platform_error: { code: 2, message: "busy" } });
});
