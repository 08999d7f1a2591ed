import t from "tap";
import {
  type EmbedState,
  type LocalState,
  outcomeOf,
  viewOf,
  withoutClosedTry,
} from "../../../../../src/resources/embed/page/browser/state.ts";

const FAILURE = { code: "missing_permission", message: "Not granted", step: "grant" } as const;
const RESULT = {
  channel: { display_name: "Ana", display_phone_number: "+55 1" },
} as unknown as NonNullable<EmbedState["result"]>;
const NUMBER = { asset_id: "1", name: "One", detail: "+55 1" };
const CHOICES = [NUMBER];

const running = (
  phase: NonNullable<EmbedState["try"]>["phase"],
  rest: Partial<EmbedState> = {},
): EmbedState => ({
  status: "opened",
  try: { try_id: "t1", platform: "chatapp", phase },
  ...rest,
});

const idle = (status: EmbedState["status"], rest: Partial<EmbedState> = {}): EmbedState => ({
  status,
  try: null,
  ...rest,
});

t.test("the server's state and the local state decide the view", async (t) => {
  const blocked = { blockedUrl: "https://dialog" };
  const table: [state: EmbedState | undefined, local: LocalState, view: object][] = [
    [undefined, {}, { name: "loading" }],
    [idle("pending"), {}, { name: "start", notice: undefined }],
    [idle("opened"), { notice: "cancelled" }, { name: "start", notice: "cancelled" }],
    [idle("opened"), { starting: "photoapp" }, { name: "waiting", platform: "photoapp" }],
    [running("dialog"), {}, { name: "waiting", platform: "chatapp" }],
    [running("dialog"), blocked, { name: "blocked", url: "https://dialog" }],
    [running("connecting"), blocked, { name: "connecting" }],
    [
      running("choosing", { choices: CHOICES }),
      {},
      { name: "choosing", platform: "chatapp", choices: CHOICES },
    ],
    [running("choosing", { choices: CHOICES }), { isAnswering: true }, { name: "connecting" }],
    [
      running("pin", { pin: { tries_left: 2, number: NUMBER } }),
      {},
      { name: "pin", triesLeft: 2, number: NUMBER },
    ],
    [
      idle("failed", { error: FAILURE, failed_platform: "photoapp" }),
      {},
      { name: "failed", failure: FAILURE, platform: "photoapp" },
    ],
    [idle("failed", { error: FAILURE }), { notice: "tooMany" }, { name: "start", notice: "tooMany" }],
    [idle("expired"), { starting: "chatapp" }, { name: "expired" }],
    [idle("revoked"), { isAnswering: true }, { name: "revoked" }],
    [idle("completed"), { isAnswering: true }, { name: "completed", account: undefined }],
    [idle("completed", { result: RESULT }), {}, { name: "completed", account: "Ana, +55 1" }],
  ];
  for (const [state, local, view] of table)
    t.same(viewOf(state, local), view, JSON.stringify({ state, local }));
});

t.test("a closed window ends a try in its dialog for the page, until the try goes on", async (t) => {
  t.same(withoutClosedTry(running("dialog"), "t1"), idle("opened"));
  t.equal(outcomeOf("t1", withoutClosedTry(running("dialog"), "t1")), "cancelled");
  for (const [state, closedTryId] of [
    [running("dialog"), undefined],
    [running("dialog"), "t0"],
    [running("connecting"), "t1"],
    [running("choosing", { choices: CHOICES }), "t1"],
    [idle("completed"), "t1"],
  ] as const)
    t.equal(withoutClosedTry(state, closedTryId), state);
});

t.test("the end of a try is one outcome; an expired or revoked session is none", async (t) => {
  t.equal(outcomeOf("t1", running("connecting")), undefined);
  t.equal(outcomeOf("t1", idle("opened")), "cancelled");
  t.equal(outcomeOf("t1", idle("failed")), "failed");
  t.equal(outcomeOf("t1", idle("completed")), "completed");
  t.equal(outcomeOf("t1", idle("expired")), undefined);
  t.equal(outcomeOf("t1", idle("revoked")), undefined);
  t.equal(outcomeOf(undefined, idle("opened")), undefined, "no try has begun");
  t.equal(outcomeOf(undefined, idle("failed")), undefined, "the page was loaded after the failure");
});
