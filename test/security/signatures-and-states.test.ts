import { randomBytes } from "node:crypto";
import t from "tap";
import { createSigner } from "../../src/security/signatures-and-states.ts";

const key = (id: string) => ({ id, bytes: randomBytes(32) });

t.test("a signature is valid only for its message, purpose and key", async (t) => {
  const keys = [key("k1")];
  const signer = createSigner(keys, "cursor");
  const signature = signer.sign("message");
  t.ok(signer.verify("message", signature));
  t.notOk(signer.verify("massage", signature));
  t.notOk(createSigner(keys, "oauth-state").verify("message", signature));
  t.notOk(createSigner([key("k1")], "cursor").verify("message", signature));
  for (const broken of ["", "x", signature.slice(1), `${signature}AAAA`])
    t.notOk(signer.verify("message", broken));
});

t.test("a signature stays valid after a key rotation while the old key is configured", async (t) => {
  const [old, fresh] = [key("k1"), key("k2")];
  const signature = createSigner([old], "cursor").sign("message");
  t.ok(createSigner([fresh, old], "cursor").verify("message", signature));
  t.notOk(createSigner([fresh], "cursor").verify("message", signature));
});
