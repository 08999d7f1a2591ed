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

t.test("tokens signed with JWT_SECRET", async (t) => {
  const tokens = createUserTokens({ ...NO_PROVIDER, JWT_SECRET: SECRET });
  const issue = tokens.issue as NonNullable<typeof tokens.issue>;

  t.test("an issued token verifies with its user and client", async (t) => {
    const before = Date.now();
    const subject = await tokens.verify(await issue(USER));
    t.match(subject, { source: "own", userId: USER.id, clientId: USER.clientId });
    const issuedAt = (subject as { issuedAt: Date }).issuedAt.getTime();
    t.ok(issuedAt >= before && issuedAt <= Date.now(), "issuedAt has millisecond precision");
  });

  t.test("a token signed elsewhere with the secret verifies with the claims it contains", async (t) => {
    const subject = await tokens.verify(await signToken({ sub: USER.id, exp: inAnHour() }));
    t.same(subject, {
      source: "own",
      userId: USER.id,
      clientId: undefined,
      sessionId: undefined,
      issuedAt: undefined,
    });
  });

  t.test("a token names its session in the claim sid", async (t) => {
    const token = await issue(USER, { sessionId: "ses_1" });
    t.match(await tokens.verify(token), { sessionId: "ses_1" });
    t.match(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()), { sid: "ses_1" });
  });

  t.test("an expired token is rejected", async (t) => {
    t.equal(await tokens.verify(await issue(USER, { ttlMs: -1 * MINUTE })), undefined);
  });

  const exp = inAnHour();
  const good = { sub: USER.id, exp };
  const [header, claims, signature] = (await signToken(good)).split(".") as [string, string, string];
  const bad: Record<string, string | Promise<string>> = {
    "without exp": signToken({ sub: USER.id }),
    "without sub": signToken({ exp }),
    "with a sub that is not a string": signToken({ exp, sub: 7 }),
    "with an empty sub": signToken({ exp, sub: "" }),
    "with a client_id that is not a string": signToken({ ...good, client_id: 7 }),
    "with a sid that is not a string": signToken({ ...good, sid: 7 }),
    "with an exp that is not a number": signToken({ sub: USER.id, exp: "tomorrow" }),
    "signed with another secret": signToken(good, { secret: "x".repeat(32) }),
    "signed with another HMAC": signToken(good, { alg: "HS512", secret: SECRET.repeat(2) }),
    "without a signature": `${header}.${claims}.`,
    "with the algorithm none": `${encode({ alg: "none" })}.${claims}.`,
    "with the algorithm None and a signature": `${encode({ alg: "None" })}.${claims}.${signature}`,
    "with other claims under the signature": `${header}.${encode({ ...good, sub: "usr_other" })}.${signature}`,
    "with a fourth part": `${header}.${claims}.${signature}.x`,
    "that is empty": "",
    "that is an API key": "svc_live_x",
    "of three dots": "...",
    "with a header that is not an object": `${encode([])}.${claims}.${signature}`,
  };

  t.test("an invalid token is rejected", async (t) => {
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

  t.test(
    "a token signed with a published key verifies with its claims, for all three algorithms",
    async (t) => {
      for (const [algorithm, key] of keys) {
        const subject = await tokens.verify(await key.sign({ name: "Ann" }));
        t.match(
          subject,
          { source: "provider", claims: { sub: "ann", role: "member", name: "Ann" } },
          algorithm,
        );
      }
      t.equal(provider.requestCount(), 1, "the keys are fetched once");
    },
  );

  t.test("Herald issues no tokens without JWT_SECRET", async (t) => {
    t.equal(tokens.issue, undefined);
  });

  t.test("an invalid token is rejected", async (t) => {
    const key = keys.get("ES256") as typeof rsa;
    const stolen = await exportSPKI(rsa.publicKey);
    const claims = { sub: "ann", exp: inAnHour(), iss: provider.settings.JWT_ISSUER, aud: "herald" };
    const payload = encode(claims);
    const bad: Record<string, string | Promise<string>> = {
      expired: key.sign({ exp: Math.floor(Date.now() / SECOND) - 60 }),
      "without exp": key.sign({ exp: undefined }),
      "without sub": key.sign({ sub: undefined }),
      "with a sub that is not a string": key.sign({ sub: 7 }),
      "without client_id": key.sign({ client_id: undefined }),
      "without role": key.sign({ role: undefined }),
      "from another issuer": key.sign({ iss: "https://login.example.evil" }),
      "without an issuer": key.sign({ iss: undefined }),
      "for another audience": key.sign({ aud: "another-audience" }),
      "without an audience": key.sign({ aud: undefined }),
      "not yet valid": key.sign({ nbf: inAnHour() }),
      "signed with an unpublished key": (await provider.createUnpublishedKey("ES256")).sign(),
      "signed with another key under a published id": (
        await provider.createUnpublishedKey("ES256", key.kid)
      ).sign(),
      "with a published key id but another algorithm": (
        await provider.createUnpublishedKey("EdDSA", key.kid)
      ).sign(),
      "with an algorithm that is not accepted": (
        await provider.createUnpublishedKey("ES384", key.kid)
      ).sign(),
      "signed by HS256 with the public key": signToken(claims, { secret: stolen }),
      "signed by HS256 with a secret": signToken(claims),
      "with the algorithm none": `${encode({ alg: "none", kid: rsa.kid })}.${payload}.`,
    };
    for (const [what, token] of Object.entries(bad))
      t.equal(await tokens.verify(await token), undefined, what);
  });

  t.test("each of two configured sources accepts only its own algorithms", async (t) => {
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

/** Moves Date.now forward. */
const advanceClock = (t: Test, milliseconds: number) => {
  const now = Date.now;
  t.intercept(Date, "now", { value: () => now.call(Date) + milliseconds });
};

t.test("changed provider keys are fetched again, at most once per 30 s", async (t) => {
  const provider = await startIdentityProvider(t);
  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  const old = await provider.addKey("ES256");
  t.ok(await tokens.verify(await old.sign()));
  provider.removeKeys();
  const fresh = await provider.addKey("ES256");
  for (let count = 0; count < 20; count++) await tokens.verify(await fresh.sign());
  t.equal(provider.requestCount(), 1, "unknown key ids do not trigger further requests");
  advanceClock(t, 31 * SECOND);
  t.ok(await tokens.verify(await fresh.sign()), "the new key is accepted after 31 s");
  t.equal(await tokens.verify(await old.sign()), undefined, "the removed key is rejected");
});

t.test("an unavailable provider throws TokenKeysUnavailable instead of rejecting the token", async (t) => {
  const provider = await startIdentityProvider(t);
  const key = await provider.addKey("ES256");
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

t.test("keys beyond the limits of an answer count as unavailable", async (t) => {
  const nested = JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`);
  const excesses = { bytes: "x".repeat(1_048_576), levels: nested, values: new Array(50_000).fill(0) };
  for (const [what, excess] of Object.entries(excesses)) {
    const provider = await startIdentityProvider(t);
    const key = await provider.addKey("ES256");
    provider.publishFields({ excess });
    const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
    await t.rejects(tokens.verify(await key.sign()), TokenKeysUnavailable, what);
  }
});

t.test("fetched keys stay valid during an outage of the provider", async (t) => {
  const provider = await startIdentityProvider(t);
  const key = await provider.addKey("ES256");
  const tokens = createUserTokens({ ...provider.settings, JWT_SECRET: undefined });
  await tokens.verify(await key.sign());
  provider.fail();
  t.match(await tokens.verify(await key.sign()), { source: "provider" });
});
