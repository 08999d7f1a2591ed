import { scryptSync } from "node:crypto";
import t from "tap";
import { createPasswords, generatePassword } from "../../src/security/passwords.ts";
import { createFastPasswords, hashPassword } from "../fixtures/tenants/passwords.ts";

/** Formats a hash with the given cost. */
function hashOf(password: string, { log2N, r, p }: { log2N: number; r: number; p: number }): string {
  const salt = Buffer.from("sixteen bytes of");
  const hash = scryptSync(password, salt, 32, { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r });
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${salt.toString("base64")}$${hash.toString("base64")}`;
}

const MATCHES = { outcome: "matches" };
const DIFFERS = { outcome: "differs" };

const LOW_COST = { log2N: 4, r: 8, p: 1 };

t.test("only the right password matches its hash", async (t) => {
  const passwords = createFastPasswords();
  const hash = await hashPassword(passwords, "correct horse");
  t.same(await passwords.check("correct horse", hash), MATCHES);
  for (const wrong of ["Correct horse", "correct horse ", ""])
    t.same(await passwords.check(wrong, hash), DIFFERS, `"${wrong}"`);
  t.not(
    await hashPassword(passwords, "correct horse"),
    hash,
    "hashing the same password twice gives different hashes",
  );
});

t.test("a hash made with another cost still verifies", async (t) => {
  const passwords = createPasswords();
  for (const cost of [LOW_COST, { log2N: 11, r: 4, p: 2 }, { log2N: 12, r: 8, p: 1 }]) {
    const hash = hashOf("correct horse", cost);
    t.same(await passwords.check("correct horse", hash), MATCHES);
    t.same(await passwords.check("another horse", hash), DIFFERS);
  }
});

t.test("different Unicode compositions of the same letters match", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("caf\u00e9", LOW_COST);
  t.same(await passwords.check("cafe\u0301", hash), MATCHES);
});

t.test(
  "no password matches a missing hash, and the check costs as much processor time as one with a hash",
  async (t) => {
    const passwords = createPasswords();
    const hash = await hashPassword(passwords, "correct horse");
    t.match(hash, /^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}==\$[\w+/]{43}=$/);
    const cost = async (password: string, hash: string | undefined, expected: object) => {
      const began = process.cpuUsage();
      t.same(await passwords.check(password, hash), expected);
      return process.cpuUsage(began).user / 1_000;
    };
    const known = await cost("correct horse", hash, MATCHES);
    const unknown = await cost("", undefined, DIFFERS);
    t.ok(unknown > known / 5, `unknown ${Math.round(unknown)} ms, known ${Math.round(known)} ms`);
  },
);

const stranger = (network: string) => ({ network, isKnown: false });

t.test("25 checks of one network wait, and those of another network come in turn", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("correct horse", LOW_COST);
  const order: string[] = [];
  const check = async (network: string) => {
    const { outcome } = await passwords.check("correct horse", hash, stranger(network));
    if (outcome === "matches") order.push(network);
    return outcome;
  };
  const many = Array.from({ length: 27 }, () => check("203.0.113.1"));
  const other = check("203.0.113.2");
  const outcomes = await Promise.all(many);
  t.equal(outcomes.filter((outcome) => outcome === "overloaded").length, 1, "one runs, 25 wait");
  t.equal(await other, "matches");
  t.ok(order.indexOf("203.0.113.2") <= 2, "the other network does not wait for all of them");
  t.equal(await check("203.0.113.1"), "matches", "the network is accepted again afterwards");
});

t.test("checks of strangers delay neither known networks nor new passwords", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("correct horse", LOW_COST);
  let checked = 0;
  const tries = Array.from({ length: 60 }, async (_, n) => {
    await passwords.check("x", hash, stranger(String(n)));
    checked += 1;
  });
  t.same(await passwords.check("correct horse", hash, { network: "203.0.113.1", isKnown: true }), MATCHES);
  t.match(await hashPassword(createFastPasswords(), "a new one"), /^\$scrypt\$/);
  t.ok(checked < 60, "strangers still wait");
  await Promise.all(tries);
});

t.test("a generated password has 20 random letters and digits", async (t) => {
  t.match(generatePassword(), /^[0-9A-Za-z]{20}$/);
  t.not(generatePassword(), generatePassword());
});
