import { randomBytes } from "node:crypto";
import t from "tap";
import { createSecretBox, SecretBoxError, withOpenedSecrets } from "../../src/security/secret-box.ts";

const key = (id: string) => ({ id, bytes: randomBytes(32) });
const CONTEXT = "channels.token:ch_1";

t.test("a sealed secret can be opened and does not reveal the secret", async (t) => {
  const box = createSecretBox([key("k1")]);
  const sealed = box.seal("tøken", CONTEXT);
  t.match(sealed, /^k1\.[\w-]+$/);
  t.notMatch(Buffer.from(sealed.slice(3), "base64url").toString("latin1"), "ken");
  t.equal(box.open(sealed, CONTEXT), "tøken");
  t.not(box.seal("tøken", CONTEXT), sealed, "sealing the same secret twice gives different texts");
});

t.test("an empty secret can be sealed and opened", async (t) => {
  const box = createSecretBox([key("k1")]);
  t.equal(box.open(box.seal("", CONTEXT), CONTEXT), "");
});

t.test("a secret does not open in another context", async (t) => {
  const box = createSecretBox([key("k1")]);
  t.throws(() => box.open(box.seal("token", CONTEXT), "channels.token:ch_2"), SecretBoxError);
});

t.test("a changed sealed text does not open", async (t) => {
  const box = createSecretBox([key("k1")]);
  const bytes = Buffer.from(box.seal("token", CONTEXT).slice(3), "base64url");
  for (const position of [0, 13, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[position] = (changed[position] as number) ^ 1;
    t.throws(() => box.open(`k1.${changed.toString("base64url")}`, CONTEXT), SecretBoxError);
  }
  for (const broken of ["", "k1", "k1.", "k1.AAAA", "nokey.AAAA", "..."])
    t.throws(() => box.open(broken, CONTEXT), SecretBoxError);
});

t.test("the first key seals, all keys open", async (t) => {
  const [old, fresh] = [key("k1"), key("k2")];
  const sealed = createSecretBox([old]).seal("token", CONTEXT);
  const box = createSecretBox([fresh, old]);
  t.equal(box.open(sealed, CONTEXT), "token");
  t.equal(box.keyId, "k2");
  t.match(box.seal("token", CONTEXT), /^k2\./);
  t.throws(() => createSecretBox([fresh]).open(sealed, CONTEXT), /no encryption key with id "k1"/);
});

t.test("a secret is opened once, and only in its context", async (t) => {
  const box = createSecretBox([{ id: "k1", bytes: randomBytes(32) }]);
  let openCount = 0;
  const remembering = withOpenedSecrets({
    ...box,
    open(sealed, context) {
      openCount += 1;
      return box.open(sealed, context);
    },
  });
  const [first, second] = [box.seal("first", "a"), box.seal("second", "a")];
  for (let call = 0; call < 3; call++) {
    t.equal(remembering.open(first, "a"), "first");
    t.equal(remembering.open(second, "a"), "second", "a changed secret");
    t.throws(() => remembering.open(first, "b"), { name: "SecretBoxError" });
  }
  t.equal(openCount, 5, "failures are not remembered");
});
