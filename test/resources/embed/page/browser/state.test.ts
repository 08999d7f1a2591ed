import t from "tap";
import {
  advance,
  type EmbedState,
  type LocalState,
  type Progress,
  viewOf,
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

/** The outcomes that are reported while these states are read. */
function outcomesOf(states: readonly EmbedState[], before: Progress = { tryId: "t1" }) {
  let progress = before;
  return states.map((state) => {
    const [next, outcome] = advance(progress, state);
    progress = next;
    return outcome;
  });
}

t.test("the end of a try is one outcome; an expired or revoked session is none", async (t) => {
  t.same(outcomesOf([running("connecting")]), [undefined]);
  t.same(outcomesOf([idle("opened"), idle("opened")]), ["cancelled", undefined]);
  t.same(outcomesOf([idle("failed"), idle("failed")]), ["failed", undefined]);
  t.same(outcomesOf([idle("completed")]), ["completed"]);
  t.same(outcomesOf([idle("expired")]), [undefined]);
  t.same(outcomesOf([idle("revoked")]), [undefined]);
  t.same(outcomesOf([idle("opened")], {}), [undefined], "no try has begun");
  t.same(outcomesOf([idle("failed")], {}), [undefined], "the page was loaded after the failure");
});

t.test(
  "a closed window ends a try in its dialog, and what the try leads to is reported as well",
  async (t) => {
    const closed = { tryId: "t1", closedTryId: "t1" };
    const [{ state }] = advance(closed, running("dialog"));
    t.same(state, idle("opened"), "the person can begin another try");
    t.same(outcomesOf([running("dialog"), running("dialog")], closed), ["cancelled", undefined]);
    t.same(
      outcomesOf([running("dialog"), idle("opened")], closed),
      ["cancelled", undefined],
      "reported once",
    );
    t.same(outcomesOf([running("dialog"), idle("failed")], closed), ["cancelled", "failed"]);
    t.same(outcomesOf([running("dialog"), idle("completed")], closed), ["cancelled", "completed"]);
    t.same(
      outcomesOf([running("dialog"), running("choosing"), idle("opened")], closed),
      ["cancelled", undefined, "cancelled"],
      "the person cancels the try that has gone on",
    );
    t.same(outcomesOf([running("dialog")], { ...closed, closedTryId: "t0" }), [undefined], "another window");
  },
);
