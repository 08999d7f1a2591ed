import { randomBytes } from "node:crypto";
import t from "tap";
import { createUser } from "../../src/domain/tenants/users.ts";
import { createClient } from "../../src/store/tenants/clients.ts";
import { checkAnswer } from "../fixtures/hostile/answers.ts";
import { openSockets, requestHead } from "../fixtures/hostile/raw-sockets.ts";
import { sharedHostileService } from "../fixtures/hostile/service.ts";
import { makeActor } from "../fixtures/tenants/actors.ts";
import { createFastPasswords } from "../fixtures/tenants/passwords.ts";
import { until } from "../fixtures/until.ts";

const ATTACKERS = ["192.0.2.51", "192.0.2.52", "192.0.2.53"];
const SIGN_INS_PER_ATTACKER = 30;

const wrongSignIn = (address: string) => {
  const body = JSON.stringify({ email: `${randomBytes(6).toString("hex")}@example.com`, password: "wrong" });
  const headers = { "X-Forwarded-For": address, "Content-Length": `${body.length}` };
  return { head: requestHead("POST /api/auth/login", headers) + body };
};

t.test("wrong sign-ins of three addresses delay the sign-in of a fourth by seconds at most", async (t) => {
  const { db, address, call } = await sharedHostileService();
  const { id } = await createClient(db, "A client");
  const user = { email: `${randomBytes(6).toString("hex")}@example.com`, password: "the right password" };
  const parts = { db, passwords: createFastPasswords() };
  await createUser(parts, makeActor(id), { ...user, name: "Ann", role: "member" });
  const plans = ATTACKERS.flatMap((attacker) =>
    Array.from({ length: SIGN_INS_PER_ATTACKER }, () => wrongSignIn(attacker)),
  );
  const sockets = openSockets(t, address, plans);
  await until("the attackers have answers", async () =>
    (await sockets.reports()).some(({ statuses }) => statuses.length > 0),
  );
  const signIn = () =>
    call("POST", "/api/auth/login", { json: user, headers: { "x-forwarded-for": "203.0.113.54" } });
  await checkAnswer(t, "the sign-in from a fourth address", [200], signIn);
  await sockets.stop();
});
