import { randomBytes } from "node:crypto";
import t from "tap";
import { withOpenedSecrets } from "../../src/security/opened-secrets.ts";
import { createSecretBox } from "../../src/security/secret-box.ts";

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
