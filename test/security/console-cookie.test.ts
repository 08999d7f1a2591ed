import t from "tap";
import { HOUR } from "../../src/runtime/durations.ts";
import { createConsoleCookie } from "../../src/security/console-cookie.ts";

const HTTP = createConsoleCookie("http://localhost:8080");
const HTTPS = createConsoleCookie("https://herald.example");

t.test(
  "the cookie is HttpOnly and SameSite=Strict, on https also Secure and bound to its host",
  async (t) => {
    t.equal(
      HTTP.set("a.b.c", 12 * HOUR),
      "herald_console=a.b.c; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
    );
    t.equal(
      HTTPS.set("a.b.c", 12 * HOUR),
      "__Host-herald_console=a.b.c; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure",
    );
  },
);

t.test("a cleared cookie has the same name and attributes as the cookie it replaces", async (t) => {
  t.equal(HTTP.clear(), "herald_console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
  t.equal(HTTPS.clear(), "__Host-herald_console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure");
});

const HEADERS: [header: string | undefined, token: string | undefined][] = [
  [undefined, undefined],
  ["", undefined],
  ["herald_console=a.b.c", "a.b.c"],
  ["theme=dark; herald_console=a.b.c; lang=en", "a.b.c"],
  ["theme=dark;herald_console=a.b.c", "a.b.c"],
  ["herald_console=a=b", "a=b"],
  ["not_herald_console=a.b.c", undefined],
  ["herald_console_too=a.b.c", undefined],
  ["theme=herald_console=a.b.c", undefined],
];

t.test("the token is found among other cookies", async (t) => {
  for (const [header, token] of HEADERS) {
    t.equal(HTTP.read(header), token, String(header));
    t.equal(
      HTTPS.read(header?.replace("herald_console=a", "__Host-herald_console=a")),
      token,
      String(header),
    );
  }
});

t.test("a cookie of the other scheme is not read", async (t) => {
  t.equal(HTTPS.read("herald_console=planted; __Host-herald_console=a.b.c"), "a.b.c");
  t.equal(HTTPS.read("herald_console=planted"), undefined);
  t.equal(HTTP.read("__Host-herald_console=a.b.c"), undefined);
});
