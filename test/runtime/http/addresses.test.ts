import t from "tap";
import { SECOND } from "../../../src/runtime/durations.ts";
import { networkOf, withoutTrailing } from "../../../src/runtime/http/addresses.ts";

const NETWORKS: [address: string, network: string][] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0db8:0001:0002::9", "2001:db8:1:2::/64"],
  ["2001:db8::9", "2001:db8:0:0::/64"],
  ["2001:db8:1::2:3:4:5", "2001:db8:1:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["", ""],
  ["unknown", "unknown"],
];

t.test("an IPv4 address counts alone, IPv6 addresses by their /64", async (t) => {
  for (const [address, network] of NETWORKS) t.equal(networkOf(address), network, address);
});

t.test("only the occurrences at the end are removed", async (t) => {
  t.equal(withoutTrailing("https://a.example//b///", "/"), "https://a.example//b");
  t.equal(withoutTrailing("https://a.example", "/"), "https://a.example");
  t.equal(withoutTrailing("===", "="), "");
  t.equal(withoutTrailing("", "="), "");
});

t.test("a long run that is not at the end is passed in linear time", async (t) => {
  const text = `${"/".repeat(1_000_000)}a`;
  const startedAt = performance.now();
  t.equal(withoutTrailing(text, "/"), text);
  t.ok(performance.now() - startedAt < 10 * SECOND);
});
