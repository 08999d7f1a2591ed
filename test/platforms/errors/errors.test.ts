import type { Test } from "tap";
import t from "tap";
import { platformApiError } from "../../../src/http/api-error.ts";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import {
  DEMO_AD_ACCESS,
  DEMO_CHAT_NUMBER,
  type Fault,
  type RunningPlatforms,
  startPlatforms,
} from "../../fixtures/platforms/platforms.ts";

/** The API's reply to a platform error code: status, error code, and whether a retry may succeed. */
type Row = [code: number, subcode: number | undefined, status: number, error: string, retryable?: boolean];

const READS_OF_AN_AD_ACCOUNT: Row[] = [
  [102, undefined, 409, "ad_account_revoked"],
  [190, undefined, 409, "ad_account_revoked"],
  [190, 458, 409, "ad_account_revoked"],
  [190, 460, 409, "ad_account_revoked"],
  [190, 463, 409, "ad_account_revoked"],
  [190, 467, 409, "ad_account_revoked"],
  [190, 492, 409, "ad_account_revoked"],
  [190, 459, 403, "platform_permission_denied"],
  [190, 464, 403, "platform_permission_denied"],
  [3, undefined, 403, "platform_permission_denied"],
  [10, undefined, 403, "platform_permission_denied"],
  [200, undefined, 403, "platform_permission_denied"],
  [294, undefined, 403, "platform_permission_denied"],
  [299, undefined, 403, "platform_permission_denied"],
  [368, 1390008, 403, "platform_policy_blocked"],
  [803, undefined, 404, "platform_object_not_found"],
  [100, 33, 404, "platform_object_not_found"],
  [1, undefined, 502, "platform_unavailable", true],
  [1, 99, 502, "platform_unavailable", true],
  [2, undefined, 502, "platform_unavailable", true],
  [100, undefined, 400, "platform_invalid_request"],
  [100, 1487534, 400, "platform_invalid_request"],
  [100, 1885272, 400, "platform_invalid_request"],
  [100, 4834011, 400, "platform_invalid_request"],
  [100, 3858152, 400, "platform_invalid_request"],
  [1487901, undefined, 400, "platform_invalid_request"],
  [104, undefined, 400, "platform_invalid_request"],
  [300, undefined, 400, "platform_invalid_request"],
  [506, undefined, 400, "platform_invalid_request"],
  [2635, undefined, 400, "platform_invalid_request"],
  [3018, undefined, 400, "platform_invalid_request"],
  [1609005, undefined, 400, "platform_invalid_request"],
  [0, undefined, 400, "platform_invalid_request"],
];

const READS_OF_A_CHANNEL: Row[] = [
  [0, undefined, 409, "channel_disconnected"],
  [190, undefined, 409, "channel_disconnected"],
  [190, 459, 409, "channel_disconnected"],
  [10, undefined, 403, "platform_permission_denied"],
  [131000, undefined, 502, "platform_unavailable", true],
  [131016, undefined, 502, "platform_unavailable", true],
  [131057, undefined, 502, "platform_unavailable", true],
  [133004, undefined, 502, "platform_unavailable", true],
  [133010, undefined, 400, "platform_invalid_request"],
  [33, undefined, 400, "platform_invalid_request"],
];

const fault = (code: number, subcode: number | undefined): Fault => ({
  kind: "error",
  code,
  ...(subcode === undefined ? {} : { subcode }),
  times: 3, // a retryable read makes three attempts
});

const rowTitle = ([code, subcode, status, error]: Row) =>
  `${code}${subcode === undefined ? "" : `/${subcode}`} is ${status} ${error}`;

async function failureOf(work: Promise<unknown>): Promise<PlatformFailure> {
  const thrown = await work.then(
    () => new Error("it succeeded"),
    (error: unknown) => error,
  );
  if (thrown instanceof PlatformFailure) return thrown;
  throw thrown;
}

const disarm = ({ origin }: RunningPlatforms) => fetch(`${origin}/_sandbox/faults`, { method: "DELETE" });

/** Retried rows take longer, so each gets its own sandbox and all run concurrently. */
async function checkRows(
  t: Test,
  rows: readonly Row[],
  read: (context: RunningPlatforms) => Promise<unknown>,
): Promise<void> {
  const context = await startPlatforms(t);
  for (const row of rows.filter(([, , , , retryable]) => !retryable))
    await checkRow(t, { context, row, read });
  const slow = rows.filter(([, , , , retryable]) => retryable);
  await Promise.all(slow.map(async (row) => checkRow(t, { context: await startPlatforms(t), row, read })));
}

async function checkRow(t: Test, { context, row, read }: RowCheck): Promise<void> {
  const [code, subcode, status, error, retryable = false] = row;
  await context.arm(fault(code, subcode));
  const answer = platformApiError(await failureOf(read(context)));
  t.match(answer, { status, code: error }, rowTitle(row));
  t.match(answer.extra, { retryable, platform_error: { code, type: "OAuthException", trace_id: /^A/ } });
  t.equal((answer.extra.platform_error as { subcode?: number }).subcode, subcode);
  t.equal(context.lines.at(-1)?.tries, retryable ? 3 : 1, "only retryable errors are retried");
  await disarm(context);
}

interface RowCheck {
  context: RunningPlatforms;
  row: Row;
  read(context: RunningPlatforms): Promise<unknown>;
}

t.test("each error code of the ad platform maps to an API error", (t) =>
  checkRows(t, READS_OF_AN_AD_ACCOUNT, ({ platforms }) => platforms.ads.accounts.read(DEMO_AD_ACCESS)),
);

t.test("each error code of the chat platform maps to an API error", (t) =>
  checkRows(t, READS_OF_A_CHANNEL, ({ platforms }) => platforms.chat.numbers.read(DEMO_CHAT_NUMBER)),
);

t.test("a dead token has its own verdict", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "dead_token" });
  t.equal((await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS))).verdict, "token_dead");
  t.equal(
    (await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS))).verdict,
    "token_dead",
    "the verdict stays the same",
  );
});

t.test("the platform's user message and rejected fields are returned", async (t) => {
  const context = await startPlatforms(t);
  for (const subcode of [1885272, 1885621]) {
    await context.arm(fault(100, subcode)); // error_data is an object for one subcode and JSON text for the other
    const failure = await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
    t.match(failure.platformError, { subcode, fields: ["name"], userTitle: "Not accepted" });
    t.equal(failure.message, failure.platformError?.userMessage);
    await disarm(context);
  }
});

t.test("an error body with status 200 counts as an error", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "error_in_200", code: 100, subcode: 33 });
  const failure = await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
  t.equal(failure.verdict, "missing");
});

t.test("a response that is not JSON is unusable", async (t) => {
  const context = await startPlatforms(t);
  await context.arm({ kind: "html", times: 3 });
  const failure = await failureOf(context.platforms.ads.accounts.read(DEMO_AD_ACCESS));
  t.match(failure, { verdict: "unusable_answer", retryable: true });
  t.notOk(failure.platformError);
});

t.test("a token that the platform quotes is redacted from errors and logs", async (t) => {
  const context = await startPlatforms(t);
  const token = "EAAForeignTokenThatTheySayBack";
  const failure = await failureOf(context.platforms.ads.accounts.read({ ...DEMO_AD_ACCESS, token }));
  t.equal(failure.verdict, "token_dead");
  t.notMatch(JSON.stringify([failure.platformError, failure.message, context.lines]), token);
});
