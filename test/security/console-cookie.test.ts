import t from "tap";
import { HOUR } from "../../src/runtime/durations.ts";
import { createConsoleCookie, readConsoleCookie } from "../../src/security/console-cookie.ts";

t.test("the cookie is HttpOnly and SameSite=Strict, and Secure when the public URL is https", async (t) => {
  t.equal(
    createConsoleCookie("http://localhost:8080").set("a.b.c", 12 * HOUR),
    "herald_console=a.b.c; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
  );
  t.equal(
    createConsoleCookie("https://herald.example").set("a.b.c", 12 * HOUR),
    "herald_console=a.b.c; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure",
  );
});

t.test("a cleared cookie has the same attributes as the cookie it replaces", async (t) => {
  t.equal(
    createConsoleCookie("https://herald.example").clear(),
    "herald_console=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure",
  );
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
  for (const [header, token] of HEADERS) t.equal(readConsoleCookie(header), token, String(header));
});
