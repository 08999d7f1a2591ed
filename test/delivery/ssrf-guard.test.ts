import t from "tap";
import { createDestinations, type Destinations, ipLiteralOf } from "../../src/delivery/ssrf-guard.ts";
import { cidrs } from "../../src/runtime/config/setting-kinds.ts";

const destinations = (ranges = "") => createDestinations(cidrs.parse(ranges) ?? []);

/** Each range with its first and last address, and neighbouring addresses that are public. */
const DENIED: [range: string, first: string, last: string, ...neighbours: string[]][] = [
  ["this network", "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["RFC 1918, 10/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["carrier-grade NAT", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["cloud metadata", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["link-local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["RFC 1918, 172.16/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["protocol assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["TEST-NET-1", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["6to4 relays", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["RFC 1918, 192.168/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["benchmarks", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["TEST-NET-2", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["TEST-NET-3", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255"],
  ["reserved and broadcast", "240.0.0.0", "255.255.255.255"],
  ["below 2000::/3", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["above 2000::/3", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
  ["IETF, Teredo", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", "2001:200::"],
  ["documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff::", "2001:db9::"],
  ["6to4", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff::", "2003::"],
  ["documentation, new", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff::", "3fff:1000::"],
  ["loopback", "::1", "::1"],
  ["mapped IPv4, even a public one", "::ffff:0.0.0.0", "::ffff:255.255.255.255"],
  ["compatible IPv4", "::127.0.0.1", "::8.8.8.8"],
  ["translated IPv4", "64:ff9b::", "64:ff9b::ffff:ffff"],
  ["unique local", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["link-local", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["multicast", "ff00::", "ff02::1"],
];

t.test("events may only go to public addresses", async (t) => {
  const { isAllowed } = destinations();
  for (const [range, first, last, ...neighbours] of DENIED) {
    for (const address of [first, last]) t.notOk(isAllowed(address, "https:"), `${range}: ${address}`);
    for (const address of neighbours) t.ok(isAllowed(address, "https:"), `next to ${range}: ${address}`);
  }
});

t.test("events may go to a public address only over https", async (t) => {
  for (const ranges of ["", "10.0.0.0/8"])
    for (const address of ["8.8.8.8", "2606:4700::1111"]) {
      t.ok(destinations(ranges).isAllowed(address, "https:"));
      t.notOk(destinations(ranges).isAllowed(address, "http:"));
    }
});

t.test("a text that is not an IP address is not allowed", async (t) => {
  for (const word of ["", "localhost", "8.8.8", "010.8.8.8", "8.8.8.8.", "[2606:4700::1]", "0x8080808"])
    t.notOk(destinations("0.0.0.0/0,::/0").isAllowed(word, "https:"), word);
});

t.test("PRIVATE_DESTINATIONS are allowed, also over http, each in its own address family", async (t) => {
  const { isAllowed, allowsHttp } = destinations("10.1.0.0/16, fd00:1::/32,192.168.1.7/32");
  t.equal(allowsHttp, true);
  t.equal(destinations().allowsHttp, false);
  const CASES: [string, boolean][] = [
    ["10.1.0.0", true],
    ["10.1.255.255", true],
    ["10.0.255.255", false],
    ["10.2.0.0", false],
    ["192.168.1.7", true],
    ["192.168.1.8", false],
    ["fd00:1::", true],
    ["fd00:1:ffff::1", true],
    ["fd00:2::", false],
    ["::ffff:10.1.0.1", false],
    ["::ffff:a01:1", false],
    ["127.0.0.1", false],
  ];
  for (const [address, expected] of CASES)
    for (const scheme of ["http:", "https:"] as const)
      t.equal(isAllowed(address, scheme), expected, `${scheme} ${address}`);
});

t.test("only an IPv6 range allows a mapped IPv4 address", async (t) => {
  t.ok(destinations("::ffff:0:0/96").isAllowed("::ffff:10.1.2.3", "http:"));
  t.notOk(destinations("::ffff:0:0/96").isAllowed("10.1.2.3", "http:"));
  t.notOk(destinations("0.0.0.0/0").isAllowed("::ffff:8.8.8.8", "https:"));
  t.notOk(destinations("::/0").isAllowed("10.1.2.3", "https:"));
});

t.test("a socket's mapped remote address is checked as its IPv4 address", async (t) => {
  const CASES: [Destinations, string, boolean][] = [
    [destinations(), "::ffff:8.8.8.8", true],
    [destinations(), "::FFFF:8.8.8.8", true],
    [destinations(), "8.8.8.8", true],
    [destinations(), "2606:4700::1", true],
    [destinations(), "::ffff:127.0.0.1", false],
    [destinations(), "::ffff:7f00:1", false],
    [destinations(), "::1", false],
    [destinations("127.0.0.0/8"), "::ffff:127.0.0.1", true],
    [destinations("127.0.0.0/8"), "::ffff:10.0.0.1", false],
    [destinations("::ffff:a00:0/104"), "::ffff:10.0.0.1", true],
  ];
  for (const [{ isAllowedPeer }, address, expected] of CASES)
    t.equal(isAllowedPeer(address, "https:"), expected, address);
  t.notOk(destinations().isAllowedPeer("::ffff:8.8.8.8", "http:"));
});

t.test("an IP address is found in a URL in every notation", async (t) => {
  const CASES: [host: string, literal: string | undefined][] = [
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["017700000001", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["0x7F000001", "127.0.0.1"],
    ["①②⑦。0.0.1", "127.0.0.1"],
    ["%31%32%37.1", "127.0.0.1"],
    ["0", "0.0.0.0"],
    ["[::ffff:127.0.0.1]", "::ffff:7f00:1"],
    ["[::127.0.0.1]", "::7f00:1"],
    ["[0:0:0:0:0:0:0:1]", "::1"],
    ["[FE80::1]", "fe80::1"],
    ["8.8.8.8", "8.8.8.8"],
    ["example.com", undefined],
    ["example.com.", undefined],
    ["localhost", undefined],
    ["localhost.", undefined],
    ["127.0.0.1.example.com", undefined],
  ];
  for (const [host, literal] of CASES) {
    const found = ipLiteralOf(new URL(`https://user@${host}:8443/path`));
    t.equal(found, literal, host);
    if (literal && literal !== "8.8.8.8") t.notOk(destinations().isAllowed(literal, "https:"), host);
  }
});
