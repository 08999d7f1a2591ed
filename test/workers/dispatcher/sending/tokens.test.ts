import t from "tap";
import type { SendKey } from "../../../../src/store/messages/claim-sends.ts";
import { createTokens } from "../../../../workers/dispatcher/sending/tokens.ts";

const keyOf = (channelId: string): SendKey => ({
  clientId: "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
  channelId,
  batchId: "",
  isSuspect: false,
});
const KEY = keyOf("ch_1");

/** Tokens that are taken from buckets with as many as `granted` says, by a clock that the test moves. */
function openTokens(granted: Record<string, number> = {}) {
  const clock = { now: 0 };
  const given: [string, number][] = [];
  const requests: [string, number][][] = [];
  const holdToken = createTokens({
    rates: { give: ({ channelId }, count) => void given.push([channelId, count]) },
    async take(wanted) {
      requests.push(wanted.map(({ key, max }) => [key.channelId, max]));
      return wanted.map(({ key, max }) => granted[key.channelId] ?? max);
    },
    idOf: ({ channelId }) => channelId,
    now: () => clock.now,
  });
  return { clock, given, requests, holdToken };
}

t.test("a young token is kept, and half of its age is left to the mark", async (t) => {
  const { clock, given, requests, holdToken } = openTokens();
  const hasToken = holdToken(KEY, 0);
  clock.now = 50;
  t.equal(await hasToken("mark"), true);
  clock.now = 100;
  t.equal(await hasToken("request"), true);
  t.same([given, requests], [[], []]);
});

t.test("an old token is exchanged before the mark, and its age begins anew", async (t) => {
  const { clock, given, requests, holdToken } = openTokens();
  const hasToken = holdToken(KEY, 0);
  clock.now = 51;
  t.equal(await hasToken("mark"), true);
  t.same([given, requests], [[["ch_1", 1]], [[["ch_1", 1]]]]);
  clock.now = 151;
  t.equal(await hasToken("request"), true);
  t.equal(requests.length, 1, "the claim is older than a token may be, the token is not");
});

t.test("a mark that took longer than a token may be old needs another token", async (t) => {
  const { clock, given, requests, holdToken } = openTokens({ ch_1: 0 });
  const hasToken = holdToken(KEY, 0);
  t.equal(await hasToken("mark"), true);
  clock.now = 101;
  t.equal(await hasToken("request"), false);
  t.same([given, requests], [[["ch_1", 1]], [[["ch_1", 1]]]]);
});

t.test("tokens that are exchanged at the same time share a request, and each is granted once", async (t) => {
  const { clock, given, requests, holdToken } = openTokens({ ch_1: 2 });
  const holders = ["ch_1", "ch_2", "ch_1", "ch_1", "ch_2"].map((id) => holdToken(keyOf(id), 0));
  clock.now = 1_000;
  const granted = await Promise.all(holders.map((hasToken) => hasToken("mark")));
  t.same(granted, [true, true, true, false, true]);
  const both: [string, number][] = [
    ["ch_1", 3],
    ["ch_2", 2],
  ];
  t.same([given, requests], [both, [both]]);
});
