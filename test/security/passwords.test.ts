import { scryptSync } from "node:crypto";
import t from "tap";
import { createPasswords, generatePassword } from "../../src/security/passwords.ts";

/** The written form of a hash with a cost of one's own. */
function hashOf(password: string, { log2N, r, p }: { log2N: number; r: number; p: number }): string {
  const salt = Buffer.from("sixteen bytes of");
  const hash = scryptSync(password, salt, 32, { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r });
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${salt.toString("base64")}$${hash.toString("base64")}`;
}

const LOW_COST = { log2N: 10, r: 8, p: 1 };

t.test("a password matches its own hash and no other does", async (t) => {
  const passwords = createPasswords();
  const hash = await passwords.hash("correct horse");
  t.match(hash, /^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}==\$[\w+/]{43}=$/);
  t.ok(await passwords.matches("correct horse", hash));
  for (const wrong of ["Correct horse", "correct horse ", ""])
    t.notOk(await passwords.matches(wrong, hash), `"${wrong}"`);
  t.not(await passwords.hash("correct horse"), hash, "the same password never looks the same twice");
});

t.test("a hash made with another cost still verifies", async (t) => {
  const passwords = createPasswords();
  for (const cost of [LOW_COST, { log2N: 11, r: 4, p: 2 }, { log2N: 14, r: 8, p: 1 }]) {
    const hash = hashOf("correct horse", cost);
    t.ok(await passwords.matches("correct horse", hash));
    t.notOk(await passwords.matches("another horse", hash));
  }
});

t.test("the same letters composed differently are the same password", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("caf\u00e9", LOW_COST);
  t.ok(await passwords.matches("cafe\u0301", hash));
});

t.test("nobody's hash matches nothing", async (t) => {
  t.notOk(await createPasswords().matches("", undefined));
});

t.test("one caller has half of the places at most, and others go on meanwhile", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("correct horse", LOW_COST);
  const many = Array.from({ length: 27 }, () => passwords.matches("correct horse", hash, "203.0.113.1"));
  const other = passwords.matches("correct horse", hash, "203.0.113.2");
  const outcomes = await Promise.allSettled(many);
  t.equal(outcomes.filter(({ status }) => status === "rejected").length, 2);
  t.ok(await other);
  t.ok(await passwords.matches("correct horse", hash, "203.0.113.1"), "and afterwards there is room again");
});

t.test("however many try passwords, one can be set", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("correct horse", LOW_COST);
  const tries = Array.from({ length: 60 }, (_, n) =>
    passwords.matches("x", hash, String(n)).catch(() => "refused"),
  );
  t.match(await passwords.hash("a new one"), /^\$scrypt\$/);
  t.ok((await Promise.all(tries)).includes("refused"));
});

t.test("two at once work and fifty wait; whoever comes then is told to come again", async (t) => {
  const passwords = createPasswords();
  const hash = hashOf("correct horse", LOW_COST);
  const tries = Array.from({ length: 60 }, (_, n) => passwords.matches("correct horse", hash, String(n)));
  const outcomes = await Promise.allSettled(tries);
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  t.equal(refused.length, 8);
  for (const reason of refused) t.match(reason, { code: "overloaded", headers: { "Retry-After": "5" } });
  for (const outcome of outcomes) if (outcome.status === "fulfilled") t.equal(outcome.value, true);
  t.ok(await passwords.matches("correct horse", hash), "and afterwards there is room again");
});

t.test("a generated password is long, plain and never the same", async (t) => {
  t.match(generatePassword(), /^[0-9A-Za-z]{20}$/);
  t.not(generatePassword(), generatePassword());
});
