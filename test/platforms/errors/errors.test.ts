import t, { type Test } from "tap";
import { PlatformFailure } from "../../../src/platforms/errors/failure.ts";
import { ACCOUNT, type Fault, NUMBER, type Scene, startScene } from "../../fixtures/platforms/platforms.ts";

/** What the API answers when a platform refuses with this code: status, error, and whether a later try may help. */
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
  times: 3, // a read is tried three times where another try may help
});

const named = ([code, subcode, status, error]: Row) =>
  `${code}${subcode === undefined ? "" : `/${subcode}`} is ${status} ${error}`;

async function failureOf(work: Promise<unknown>): Promise<PlatformFailure> {
  const thrown = await work.then(
    () => new Error("it succeeded"),
    (error: unknown) => error,
  );
  if (thrown instanceof PlatformFailure) return thrown;
  throw thrown;
}

const disarm = ({ origin }: Scene) => fetch(`${origin}/_sandbox/faults`, { method: "DELETE" });

/** Rows that are tried again take their time, so each has a scene of its own and they all run at once. */
async function eachRow(
  t: Test,
  rows: readonly Row[],
  read: (scene: Scene) => Promise<unknown>,
): Promise<void> {
  const scene = await startScene(t);
  for (const row of rows.filter(([, , , , retryable]) => !retryable)) await checkRow(t, { scene, row, read });
  const slow = rows.filter(([, , , , retryable]) => retryable);
  await Promise.all(slow.map(async (row) => checkRow(t, { scene: await startScene(t), row, read })));
}

async function checkRow(t: Test, { scene, row, read }: RowCheck): Promise<void> {
  const [code, subcode, status, error, retryable = false] = row;
  await scene.arm(fault(code, subcode));
  const failure = await failureOf(read(scene));
  t.match(failure, { status, code: error, retryable }, named(row));
  t.match(failure.extra, { retryable, platform_error: { code, type: "OAuthException", trace_id: /^A/ } });
  t.equal((failure.extra.platform_error as { subcode?: number }).subcode, subcode);
  t.equal(scene.lines.at(-1)?.tries, retryable ? 3 : 1, "only what may pass is tried again");
  await disarm(scene);
}

interface RowCheck {
  scene: Scene;
  row: Row;
  read(scene: Scene): Promise<unknown>;
}

t.test("what the ad platform refuses", (t) =>
  eachRow(t, READS_OF_AN_AD_ACCOUNT, ({ platforms }) => platforms.ads.accounts.read(ACCOUNT)),
);

t.test("what the chat platform refuses", (t) =>
  eachRow(t, READS_OF_A_CHANNEL, ({ platforms }) => platforms.chat.numbers.read(NUMBER)),
);

t.test("a dead token is told apart, so that whoever keeps it can act", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "dead_token" });
  t.equal((await failureOf(scene.platforms.ads.accounts.read(ACCOUNT))).verdict, "token_dead");
  t.equal(
    (await failureOf(scene.platforms.ads.accounts.read(ACCOUNT))).verdict,
    "token_dead",
    "and stays so",
  );
});

t.test("the platform's words for a person come through, with the fields it blames", async (t) => {
  const scene = await startScene(t);
  for (const subcode of [1885272, 1885621]) {
    await scene.arm(fault(100, subcode)); // the data is an object for one of them, JSON text for the other
    const failure = await failureOf(scene.platforms.ads.accounts.read(ACCOUNT));
    const error = failure.extra.platform_error as Record<string, unknown>;
    t.match(error, { subcode, fields: ["name"], user_title: "Not accepted" });
    t.equal(failure.message, error.user_message);
    await disarm(scene);
  }
});

t.test("an error that comes with 200 is one", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "error_in_200", code: 100, subcode: 33 });
  const failure = await failureOf(scene.platforms.ads.accounts.read(ACCOUNT));
  t.match(failure, { code: "platform_object_not_found" });
});

t.test("what is not JSON is no answer", async (t) => {
  const scene = await startScene(t);
  await scene.arm({ kind: "html", times: 3 });
  const failure = await failureOf(scene.platforms.ads.accounts.read(ACCOUNT));
  t.match(failure, { status: 502, code: "platform_unavailable", retryable: true });
  t.notOk(failure.extra.platform_error);
});

t.test("a token that the platform quotes goes no further", async (t) => {
  const scene = await startScene(t);
  const token = "EAAForeignTokenThatTheySayBack";
  const failure = await failureOf(scene.platforms.ads.accounts.read({ ...ACCOUNT, token }));
  t.equal(failure.code, "ad_account_revoked");
  t.notMatch(JSON.stringify([failure.extra, failure.message, scene.lines]), token);
});
