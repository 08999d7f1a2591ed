import t from "tap";
import { createEventPoster } from "../../src/delivery/post-event.ts";
import { createDestinations, createResolver } from "../../src/delivery/ssrf-guard.ts";
import { checkAddress } from "../../src/delivery/webhook-address.ts";
import { cidrs } from "../../src/runtime/config/setting-kinds.ts";
import { startBackend } from "../fixtures/events/backends.ts";
import { startNameServer, type Zone } from "../fixtures/servers/name-server.ts";

const among = (ranges: string) => createDestinations(cidrs.parse(ranges) ?? []);

const ZONE: Zone = {
  "both.example": ["8.8.8.8", "2606:4700::1"],
  "old.example": ["8.8.4.4", "8.8.8.8"],
  "new.example": ["2606:4700::1"],
  "none.example": [],
  "dead.example": "silent",
};

t.test("a name resolves to its addresses of both families", async (t) => {
  const servers = [await startNameServer(t, ZONE)];
  const resolver = createResolver({ destinations: among(""), servers });
  const addressesOf = async (host: string) => (await resolver(host)).map(({ address }) => address).sort();
  t.same(await addressesOf("both.example"), ["2606:4700::1", "8.8.8.8"]);
  t.same(await addressesOf("both.example."), ["2606:4700::1", "8.8.8.8"]);
  t.same(await addressesOf("old.example"), ["8.8.4.4", "8.8.8.8"]);
  t.same(await addressesOf("new.example"), ["2606:4700::1"]);
  for (const host of ["none.example", "unknown.example"])
    await t.rejects(resolver(host), { code: "ENOTFOUND" }, host);
});

t.test("localhost resolves to the allowed loopback addresses", async (t) => {
  const servers = [await startNameServer(t, { localhost: ["8.8.8.8"] })];
  const rows: [string, string[]][] = [
    ["", ["127.0.0.1", "::1"]],
    ["127.0.0.0/8", ["127.0.0.1"]],
    ["::1/128", ["::1"]],
    ["127.0.0.0/8,::1/128", ["127.0.0.1", "::1"]],
  ];
  for (const [ranges, expected] of rows)
    for (const host of ["localhost", "LOCALHOST", "app.localhost", "localhost."]) {
      const found = await createResolver({ destinations: among(ranges), servers })(host);
      t.same(
        found.map(({ address }) => address),
        expected,
        `${host} with "${ranges}"`,
      );
    }
});

t.test("names that only the system knows resolve only when there are private destinations", async (t) => {
  const servers = [await startNameServer(t, ZONE)];
  const host = "127.0.0.1"; // the system resolves it without a name server
  t.match(await createResolver({ destinations: among("127.0.0.0/8"), servers })(host), [{ address: host }]);
  await t.rejects(createResolver({ destinations: among(""), servers })(host), { code: "ENOTFOUND" });
});

t.test("name servers that do not answer do not delay other names", async (t) => {
  const destinations = among("127.0.0.0/8");
  let answerOthers = (_addresses: string[]) => {};
  const answered = new Promise<string[]>((resolve) => {
    answerOthers = resolve;
  });
  const others = Array.from({ length: 40 }, (_, index) => `other-${index}.example`);
  const zone: Zone = { ...ZONE, ...Object.fromEntries(others.map((host) => [host, answered])) };
  const resolver = createResolver({ destinations, servers: [await startNameServer(t, zone)] });
  const backend = await startBackend(t, (_, response) => response.end());
  const poster = createEventPoster({ destinations, resolver });
  t.teardown(() => poster.close());
  let resolvedCount = 0;
  const resolving = others.map((host) =>
    resolver(host).finally(() => {
      resolvedCount += 1;
    }),
  );
  const { outcome } = await poster.post({
    url: `http://localhost:${backend.port}`,
    headers: {},
    body: "{}",
    token: undefined,
  });
  t.equal(outcome, "delivered");
  t.equal(resolvedCount, 0, "the other names are still being resolved");
  answerOthers(["8.8.8.8"]);
  for (const found of await Promise.all(resolving)) t.match(found, [{ address: "8.8.8.8" }]);
});

t.test("an address whose name server never answers is accepted", async (t) => {
  const destinations = among("127.0.0.0/8");
  const resolver = createResolver({ destinations, servers: [await startNameServer(t, ZONE)] });
  const rules = { destinations, resolver, publicUrl: "https://herald.example" };
  t.match(await checkAddress("https://dead.example", rules), { outcome: "accepted" });
});
