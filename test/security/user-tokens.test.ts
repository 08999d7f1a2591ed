import { randomBytes } from "node:crypto";
import { exportSPKI, SignJWT } from "jose";
import t, { type Test } from "tap";
import { MINUTE, SECOND } from "../../src/runtime/durations.ts";
import { createUserTokens, TokenKeysUnavailable } from "../../src/security/user-tokens.ts";
import { startIdentityProvider } from "../fixtures/tenants/identity-provider.ts";

const NO_PROVIDER = { JWT_JWKS_URL: undefined, JWT_ISSUER: undefined, JWT_AUDIENCE: undefined };
const SECRET = randomBytes(32).toString("base64url");
const USER = { id: "usr_01k9zv3m5q8x7w2r4t6y0a1b2c", clientId: "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21" };

const inAnHour = () => Math.floor(Date.now() / SECOND) + 3_600;
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

const signToken = (claims: Record<string, unknown>, { secret = SECRET, alg = "HS256" } = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg }).sign(Buffer.from(secret));

t.test("tokens of our own", async (t) => {
  const tokens = createUserTokens({ ...NO_PROVIDER, JWT_SECRET: SECRET });
  const issue = tokens.issue as NonNullable<typeof tokens.issue>;

  t.test("one that we issued tells whom it speaks of", async (t) => {
    const before = Date.now();
    const subject = await tokens.verify(await issue(USER));
    t.match(subject, { source: "own", userId: USER.id, clientId: USER.clientId });
    const issuedAt = (subject as { issuedAt: Date }).issuedAt.getTime();
    t.ok(issuedAt >= before && issuedAt <= Date.now(), "to the millisecond of its making");
  });

  t.test("one that somebody else signed with our secret is as good, with as much as it says", async (t) => {
    const subject = await tokens.verify(await signToken({ sub: USER.id, exp: inAnHour() }));
    t.same(subject, { source: "own", userId: USER.id, clientId: undefined, issuedAt: undefined });
  });

  t.test("an expired one is refused", async (t) => {
    t.equal(await tokens.verify(await issue(USER, { ttlMs: -1 * MINUTE })), undefined);
  });

  const exp = inAnHour();
  const good = { sub: USER.id, exp };
  const [header, claims, signature] = (await signToken(good)).split(".") as [string, string, string];
  const bad: Record<string, string | Promise<string>> = {
    "without exp": signToken({ sub: USER.id }),
    "without sub": signToken({ exp }),
    "whose sub is no text": signToken({ exp, sub: 7 }),
    "whose sub is empty": signToken({ exp, sub: "" }),
    "whose client is no text": signToken({ ...good, client_id: 7 }),
    "whose exp is no number": signToken({ sub: USER.id, exp: "tomorrow" }),
    "by another secret": signToken(good, { secret: "x".repeat(32) }),
    "by another HMAC": signToken(good, { alg: "HS512", secret: SECRET.repeat(2) }),
    "without a signature": `${header}.${claims}.`,
    "of the algorithm none": `${encode({ alg: "none" })}.${claims}.`,
    "of the algorithm None, signed": `${encode({ alg: "None" })}.${claims}.${signature}`,
    "with other claims under the signature": `${header}.${encode({ ...good, sub: "usr_other" })}.${signature}`,
    "with a part too many": `${header}.${claims}.${signature}.x`,
    "that is empty": "",
    "that is no token": "svc_live_x",
    "of three dots": "...",
    "whose header is no object": `${encode([])}.${claims}.${signature}`,
  };

  t.test("a token is refused", async (t) => {
    for (const [what, token] of Object.entries(bad))
      t.equal(await tokens.verify(await token), undefined, what);
  });
});

t.test("tokens of an identity provider", async (t) => {
  const provider = await startIdentityProvider(t);
  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  const keys = new Map<string, Awaited<ReturnType<typeof provider.addKey>>>();
  for (const algorithm of ["RS256", "ES256", "EdDSA"]) keys.set(algorithm, await provider.addKey(algorithm));
  const rsa = keys.get("RS256") as Awaited<ReturnType<typeof provider.addKey>>;

  t.test("one by a published key is good, with all it claims, in each of the three algorithms", async (t) => {
    for (const [algorithm, key] of keys) {
      const subject = await tokens.verify(await key.sign({ name: "Ann" }));
      t.match(
        subject,
        { source: "provider", claims: { sub: "ann", role: "member", name: "Ann" } },
        algorithm,
      );
    }
    t.equal(provider.requestCount(), 1, "the keys were asked for once");
  });

  t.test("none are issued here", async (t) => {
    t.equal(tokens.issue, undefined);
  });

  t.test("a token is refused", async (t) => {
    const stolen = await exportSPKI(rsa.publicKey);
    const claims = { sub: "ann", exp: inAnHour(), iss: provider.settings.JWT_ISSUER, aud: "herald" };
    const payload = encode(claims);
    const bad: Record<string, string | Promise<string>> = {
      expired: rsa.sign({ exp: Math.floor(Date.now() / SECOND) - 60 }),
      "without exp": rsa.sign({ exp: undefined }),
      "without sub": rsa.sign({ sub: undefined }),
      "whose sub is no text": rsa.sign({ sub: 7 }),
      "without client_id": rsa.sign({ client_id: undefined }),
      "without role": rsa.sign({ role: undefined }),
      "of another issuer": rsa.sign({ iss: "https://login.example.evil" }),
      "without issuer": rsa.sign({ iss: undefined }),
      "for another audience": rsa.sign({ aud: "somebody-else" }),
      "without audience": rsa.sign({ aud: undefined }),
      "not yet good": rsa.sign({ nbf: inAnHour() }),
      "by a key that was never published": (await provider.createUnpublishedKey("RS256")).sign(),
      "by another key under a published id": (await provider.createUnpublishedKey("RS256", rsa.kid)).sign(),
      "by a published id of another algorithm": (
        await provider.createUnpublishedKey("ES256", rsa.kid)
      ).sign(),
      "in an algorithm that is not taken": (await provider.createUnpublishedKey("PS256", rsa.kid)).sign(),
      "HS256, signed with the public key": signToken(claims, { secret: stolen }),
      "HS256, signed with some secret": signToken(claims),
      "of the algorithm none": `${encode({ alg: "none", kid: rsa.kid })}.${payload}.`,
    };
    for (const [what, token] of Object.entries(bad))
      t.equal(await tokens.verify(await token), undefined, what);
  });

  t.test("with both sources set, each takes its own algorithms alone", async (t) => {
    const both = createUserTokens({ ...provider.settings, JWT_SECRET: SECRET });
    t.match(await both.verify(await rsa.sign()), { source: "provider" });
    t.match(await both.verify(await signToken({ sub: USER.id, exp: inAnHour() })), { source: "own" });
    const stolen = await exportSPKI(rsa.publicKey);
    t.equal(
      await both.verify(await signToken({ sub: USER.id, exp: inAnHour() }, { secret: stolen })),
      undefined,
    );
  });
});

/** Lets the time of day jump ahead, for what waits by the clock. */
const advanceClock = (t: Test, milliseconds: number) => {
  const now = Date.now;
  t.intercept(Date, "now", { value: () => now.call(Date) + milliseconds });
};

t.test("keys that the provider changes are noticed, however many unknown ones arrive", async (t) => {
  const provider = await startIdentityProvider(t);
  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  const old = await provider.addKey("RS256");
  t.ok(await tokens.verify(await old.sign()));
  provider.removeKeys();
  const fresh = await provider.addKey("ES256");
  for (let count = 0; count < 20; count++) await tokens.verify(await fresh.sign());
  t.equal(provider.requestCount(), 1, "an unknown key id is no way to make us ask again and again");
  advanceClock(t, 31 * SECOND);
  t.ok(await tokens.verify(await fresh.sign()), "half a minute later the new key is known");
  t.equal(await tokens.verify(await old.sign()), undefined, "and the old one is not");
});

t.test("a provider that cannot be asked is no fault of the token", async (t) => {
  const provider = await startIdentityProvider(t);
  const key = await provider.addKey("RS256");
  const token = await key.sign();
  const unreachable = {
    ...provider.settings,
    JWT_JWKS_URL: "http://127.0.0.1:1/keys",
    JWT_SECRET: undefined,
  };
  await t.rejects(createUserTokens(unreachable).verify(token), TokenKeysUnavailable);

  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  provider.fail();
  await t.rejects(tokens.verify(token), TokenKeysUnavailable);
});

t.test("known keys outlast an outage of the provider", async (t) => {
  const provider = await startIdentityProvider(t);
  const key = await provider.addKey("RS256");
  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  await tokens.verify(await key.sign());
  provider.fail();
  t.match(await tokens.verify(await key.sign()), { source: "provider" });
});
