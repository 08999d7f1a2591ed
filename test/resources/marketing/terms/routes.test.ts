import { createHash } from "node:crypto";
import t from "tap";
import { deleteClient } from "../../../../src/domain/tenants/delete-client.ts";
import { acceptTerms } from "../../../../src/domain/tenants/terms.ts";
import { startApi } from "../../../fixtures/http/api.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import { startIdentityProvider } from "../../../fixtures/tenants/identity-provider.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import {
  createTermsClient,
  createTermsRoutes,
  FIRST_TERMS_VERSION,
} from "../../../fixtures/tenants/terms.ts";

t.test("advertising terms", async (t) => {
  const provider = await startIdentityProvider(t);
  const api = await startApi(t, { settings: provider.settings, routes: createTermsRoutes });
  const { status, text, accept, create, audit, newTenant } = createTermsClient(api);

  t.test("the migrations insert the first version, which no client has accepted", async (t) => {
    const { headers } = await (await makeTenant(api)).createKey("marketing:read");
    t.same((await status(headers)).body, {
      version: FIRST_TERMS_VERSION,
      accepted: false,
      accepted_at: null,
      accepted_by: null,
      current_version_accepted: false,
    });
    const { body } = await text(headers);
    t.equal(body.version, FIRST_TERMS_VERSION);
    t.match(body.text, /^Terms of responsibility for advertising spend\n/);
    for (let number = 1; number <= 10; number++) t.match(body.text, `\n${number}. `);
  });

  t.test("an owner or admin accepts the terms for their own client only", async (t) => {
    for (const role of ["owner", "admin"] as const) {
      const { tenant, key } = await newTenant();
      const person = await tenant.createUser(role);
      const before = Date.now();
      const accepted = await accept(person.headers, { version: FIRST_TERMS_VERSION });
      t.equal(accepted.status, 200);
      const { accepted_at, ...rest } = accepted.body;
      t.same(rest, {
        version: FIRST_TERMS_VERSION,
        accepted: true,
        accepted_by: { user_id: person.id, name: `A test's ${role}`, email: person.email, role },
        current_version_accepted: true,
      });
      t.ok(Date.parse(accepted_at) >= before - 1_000 && Date.parse(accepted_at) <= Date.now() + 1_000);
      const viewer = await tenant.createUser("viewer");
      t.same((await status(viewer.headers)).body, accepted.body);
      t.equal((await create(key.headers)).status, 200);
      const otherTenant = await newTenant();
      t.match((await status(otherTenant.owner.headers)).body, { accepted: false, accepted_at: null });
      t.equal((await create(otherTenant.key.headers)).body.error, "terms_not_accepted");
    }
  });

  t.test("the audit log records the actor, address, user agent and text hash of an acceptance", async (t) => {
    const { owner } = await newTenant();
    const accepted = (await text(owner.headers)).body.text;
    const agent = `Browser é ${"x".repeat(600)}`;
    await accept({ ...owner.headers, "user-agent": agent }, { version: FIRST_TERMS_VERSION });
    t.match(await audit(owner.headers), [
      {
        action: "terms.accepted",
        target: FIRST_TERMS_VERSION,
        actor: { type: "user", id: owner.id },
        address: /127\.0\.0\.1$/,
        details: {
          version: FIRST_TERMS_VERSION,
          user_agent: agent.slice(0, 512),
          text_sha256: createHash("sha256").update(accepted).digest("hex"),
        },
      },
    ]);
    t.equal((await audit(owner.headers))[0].details.user_agent.length, 512);
    t.same(await audit((await (await makeTenant(api)).createUser("owner")).headers), []);
  });

  t.test("a repeated acceptance keeps the first date, user and audit entry", async (t) => {
    const { tenant, owner } = await newTenant();
    const first = await accept(owner.headers, { version: FIRST_TERMS_VERSION });
    const again = await accept(owner.headers, { version: FIRST_TERMS_VERSION });
    const byOther = await accept((await tenant.createUser("admin")).headers, {
      version: FIRST_TERMS_VERSION,
    });
    for (const reply of [again, byOther]) {
      t.equal(reply.status, 200);
      t.same(reply.body, first.body);
    }
    t.equal((await audit(owner.headers)).length, 1);
  });

  t.test("one of several concurrent acceptances counts, and all replies name its user", async (t) => {
    const { tenant, owner } = await newTenant();
    const people = await Promise.all(
      (["owner", "admin", "admin", "owner"] as const).map((role) => tenant.createUser(role)),
    );
    const replies = await Promise.all(
      people.map(({ headers }) => accept(headers, { version: FIRST_TERMS_VERSION })),
    );
    for (const reply of replies) {
      t.equal(reply.status, 200);
      t.same(reply.body, replies[0]?.body);
    }
    const lines = await audit(owner.headers);
    t.equal(lines.length, 1);
    t.equal(lines[0].actor.id, replies[0]?.body.accepted_by.user_id);
  });

  t.test("refusals are checked in order: key, scope, role, version", async (t) => {
    const { tenant, owner, key } = await newTenant();
    const wrong = { version: "1999-01-01" };
    t.match(await accept(key.headers, wrong), { status: 403, body: { error: "console_only" } });
    const viewer = await accept((await tenant.createUser("viewer")).headers, wrong);
    t.match(viewer, {
      status: 403,
      body: { error: "insufficient_scope", required_scope: "marketing:manage" },
    });
    const member = await accept((await tenant.createUser("member")).headers, wrong);
    t.match(member, { status: 403, body: { error: "role_insufficient" } });
    t.match(await accept(owner.headers, wrong), {
      status: 400,
      body: {
        error: "terms_version_not_current",
        message: `The version in force is ${FIRST_TERMS_VERSION}`,
        current_version: FIRST_TERMS_VERSION,
        details: [{ path: "/version" }],
      },
    });
    t.same(await audit(owner.headers), []);
  });

  t.test("only the exact current version is accepted", async (t) => {
    const { owner } = await newTenant();
    const bad: [string, unknown, string][] = [
      ["nothing", {}, "validation_failed"],
      ["null", { version: null }, "validation_failed"],
      ["a number", { version: 20261101 }, "validation_failed"],
      ["another field", { version: FIRST_TERMS_VERSION, name: "Ann" }, "validation_failed"],
      ["U+0000", { version: "\u0000" }, "validation_failed"],
      ["an unpaired surrogate", { version: "\ud800" }, "validation_failed"],
      ["an empty string", { version: "" }, "terms_version_not_current"],
      ["a trailing space", { version: `${FIRST_TERMS_VERSION} ` }, "terms_version_not_current"],
      ["a long string", { version: "x".repeat(100_000) }, "terms_version_not_current"],
      ["full-width digits", { version: "２０２６" }, "terms_version_not_current"],
    ];
    for (const [what, json, error] of bad) {
      const reply = await accept(owner.headers, json);
      t.equal(reply.status, 400, what);
      t.equal(reply.body.error, error, what);
    }
    t.equal((await status(owner.headers)).body.accepted, false);
  });

  t.test("a user of an identity provider is recorded with the provider's claims", async (t) => {
    const key = await provider.addKey("ES256");
    const cases: [Record<string, unknown>, object][] = [
      [
        { name: "Ann", email: "ann@corp.example" },
        { name: "Ann", email: "ann@corp.example" },
      ],
      [{ name: "Ann" }, { name: "Ann", email: null }],
      [
        { name: "Ann", email: "" },
        { name: "Ann", email: null },
      ],
      [
        { name: "Ann", email: 7 },
        { name: "Ann", email: null },
      ],
      [{}, { name: "ann|7", email: null }],
    ];
    for (const [claims, shown] of cases) {
      const { tenant } = await newTenant();
      const token = await key.sign({ sub: "ann|7", client_id: tenant.id, role: "admin", ...claims });
      const { body } = await accept({ authorization: `Bearer ${token}` }, { version: FIRST_TERMS_VERSION });
      t.same(body.accepted_by, { user_id: "ann|7", role: "admin", ...shown });
    }
  });

  t.test("an acceptance is unchanged after its user is deleted", async (t) => {
    const { tenant, owner } = await newTenant();
    const { body } = await accept(owner.headers, { version: FIRST_TERMS_VERSION });
    await api.db.query("delete from users where id = $1", [owner.id]);
    t.same((await status((await tenant.createUser("admin")).headers)).body, body);
  });

  t.test("an erased client's acceptances are deleted, and it cannot accept again", async (t) => {
    const { tenant, owner } = await newTenant();
    const unknown = await newTenant();
    await accept(owner.headers, { version: FIRST_TERMS_VERSION });
    t.equal((await status(unknown.owner.headers)).status, 200, "its credential is cached");
    for (const { id } of [tenant, unknown.tenant]) await deleteClient(api.db, id);
    t.same(await api.db.query("select 1 from terms_acceptances where client_id = $1", [tenant.id]), []);
    t.equal((await accept(unknown.owner.headers, { version: FIRST_TERMS_VERSION })).status, 401);
  });

  t.test("the demo client's owner accepts the current terms once", async (t) => {
    const { tenant, owner, key } = await newTenant();
    const actor = makeActor(tenant.id);
    const acceptor = { id: owner.id, name: "Ann", email: owner.email, role: "owner" };
    for (let count = 0; count < 2; count++) await acceptTerms(api.db, actor, acceptor);
    t.match((await status(owner.headers)).body, { accepted: true, accepted_by: { user_id: owner.id } });
    const lines = await audit(owner.headers);
    t.match(lines, [{ actor: { type: "operator" }, details: { user_agent: null } }]);
    t.equal(lines.length, 1);
    t.equal((await create(key.headers)).status, 200);
  });
});
