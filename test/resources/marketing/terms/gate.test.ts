import t from "tap";
import { acceptTerms } from "../../../../src/domain/tenants/terms.ts";
import type { Route } from "../../../../src/http/route.ts";
import { countAcceptances } from "../../../../src/store/tenants/terms.ts";
import { productRoutes, startApi } from "../../../fixtures/http/api.ts";
import { untilBlocked } from "../../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../../fixtures/servers/servers.ts";
import { watchStatements } from "../../../fixtures/servers/statements.ts";
import { makeActor } from "../../../fixtures/tenants/actors.ts";
import { makeTenant } from "../../../fixtures/tenants/tenants.ts";
import {
  createTermsClient,
  createTermsRoutes,
  FIRST_TERMS_VERSION,
  gatedRoute,
} from "../../../fixtures/tenants/terms.ts";

t.test("terms gate", async (t) => {
  const { statements, database } = watchStatements();
  const api = await startApi(t, { database, routes: createTermsRoutes });
  const { status, text, accept, create, audit, publish, newTenant } = createTermsClient(api);

  t.test("the gate is checked after the scope and before the request body", async (t) => {
    const { tenant, key } = await newTenant();
    const reader = await tenant.createKey("marketing:read");
    t.equal((await create(reader.headers)).body.error, "insufficient_scope");
    for (const json of [{}, { name: "x" }, { unknown: 1 }]) {
      const refused = await create(key.headers, json);
      t.equal(refused.status, 403);
      t.match(refused.body, {
        error: "terms_not_accepted",
        message: `The client must accept version ${FIRST_TERMS_VERSION} of the terms first`,
        current_version: FIRST_TERMS_VERSION,
      });
    }
    statements.length = 0;
    await create(key.headers);
    t.equal(statements.filter((text) => text.includes("terms_")).length, 1, "the check runs one statement");
    t.equal((await create((await tenant.createUser("viewer")).headers)).body.error, "insufficient_scope");
  });

  t.test("a new version closes the gate immediately until it is accepted", async (t) => {
    const { tenant, owner, key } = await newTenant();
    const first = (await accept(owner.headers, { version: FIRST_TERMS_VERSION })).body;
    t.equal((await create(key.headers)).status, 200);
    await publish("2026-12-01");
    const closed = await create(key.headers);
    t.match(closed, { status: 403, body: { error: "terms_not_accepted", current_version: "2026-12-01" } });
    t.same((await status(owner.headers)).body, {
      ...first,
      version: "2026-12-01",
      accepted: false,
      current_version_accepted: false,
    });
    t.match((await accept(owner.headers, { version: FIRST_TERMS_VERSION })).body, {
      error: "terms_version_not_current",
      current_version: "2026-12-01",
    });
    const admin = await tenant.createUser("admin");
    const again = await accept(admin.headers, { version: "2026-12-01" });
    t.match(again.body, {
      accepted: true,
      version: "2026-12-01",
      accepted_by: { user_id: admin.id, role: "admin" },
    });
    t.ok(again.body.accepted_at > first.accepted_at);
    t.equal((await create(key.headers)).status, 200);
    t.equal(
      (await create(key.headers, {})).body.error,
      "validation_failed",
      "the body is validated after the gate",
    );
    t.equal((await audit(owner.headers)).length, 2);
  });

  t.test("the last published version is in force, regardless of its name and the clock", async (t) => {
    const { owner } = await newTenant();
    await publish("z");
    await accept(owner.headers, { version: "z" });
    await publish("a");
    await api.db.query("update terms_versions set published_at = '1999-01-01' where version = 'a'");
    t.equal((await status(owner.headers)).body.version, "a");
    const { body } = await accept(owner.headers, { version: "a" });
    await api.db.query("update terms_acceptances set accepted_at = '1999-01-01' where version = 'a'");
    t.match(body, { accepted: true });
    t.match((await status(owner.headers)).body, { accepted: true, accepted_at: /^1999/ });
    t.same(await publish("z", "another text"), { outcome: "exists" });
    t.equal((await text(owner.headers)).body.text, "The text of a");
  });

  t.test("an acceptance during a publication applies to the new version or fails", async (t) => {
    const { owner, key } = await newTenant();
    const { version: former } = (await status(owner.headers)).body;
    const lateTenant = await newTenant();
    await accept(lateTenant.owner.headers, { version: former });
    const publisher = await connectRawClient(t, api.config.DATABASE_URL);
    await publisher.query("begin");
    await publisher.query("lock table terms_versions in exclusive mode");
    await publisher.query("insert into terms_versions (version, text) values ('while', 'x')");
    const [stale, fresh] = [former, "while"].map((version) => accept(owner.headers, { version }));
    await untilBlocked(publisher, 2);
    t.equal((await create(lateTenant.key.headers)).status, 200, "reads are not blocked");
    t.equal((await status(lateTenant.owner.headers)).body.version, former);
    await publisher.query("commit");
    t.match(await stale, { status: 400, body: { current_version: "while" } });
    t.match(await fresh, { status: 200, body: { version: "while", accepted: true } });
    t.equal((await create(key.headers)).status, 200);
    t.equal((await create(lateTenant.key.headers)).status, 403);
  });

  t.test("a publication waits for running acceptances and counts them", async (t) => {
    const { tenant, owner } = await newTenant();
    const { version: former } = (await status(owner.headers)).body;
    const actor = makeActor(tenant.id, { type: "user", id: owner.id, name: "Ann" });
    const observer = await connectRawClient(t, api.config.DATABASE_URL);
    const before = await countAcceptances(api.db, former);
    await observer.query("begin");
    await observer.query("lock table audit_log in exclusive mode");
    const accepting = acceptTerms(api.db, actor, { id: owner.id, name: "Ann", email: null, role: "owner" });
    await untilBlocked(observer, 1);
    const publishing = publish("after");
    await untilBlocked(observer, 2);
    await observer.query("commit");
    await accepting;
    t.match(await publishing, { outcome: "published", former, clientsToReaccept: before + 1 });
    t.match((await status(owner.headers)).body, {
      version: "after",
      accepted: false,
      accepted_by: { name: "Ann" },
    });
  });

  t.test("the later of two concurrent publications is in force", async (t) => {
    const { headers } = await (await makeTenant(api)).createKey("marketing:read");
    const published = await Promise.all([publish("one"), publish("two"), publish("one")]);
    t.same(published.map(({ outcome }) => outcome).sort(), ["exists", "published", "published"]);
    const [last] = await api.db.query<{ version: string }>(
      "select version from terms_versions order by published_at desc limit 1",
    );
    t.equal((await status(headers)).body.version, last?.version);
  });
});

/**
 * Routes that need no accepted terms although they are not GET: accepting the terms, and reports, which only read.
 */
const UNGATED_ROUTES = ["post /api/marketing/terms/accept", "post /api/marketing/insights/reports"];

const findMisgated = (routes: readonly Route[]): string[] =>
  routes
    .filter(({ path }) => path.startsWith("/api/marketing/"))
    .map(({ method, path, gate }) => ({ title: `${method} ${path}`, method, gate }))
    .filter(
      ({ title, method, gate }) =>
        (gate === "terms") === (method === "get" || UNGATED_ROUTES.includes(title)),
    )
    .map(({ title }) => title);

t.test("the gate covers exactly the routes under /api/marketing that change something", async (t) => {
  const routes = productRoutes();
  t.ok(routes.some(({ path }) => path === "/api/marketing/terms/accept"));
  t.same(findMisgated(routes), []);
  const { gate, ...ungated } = gatedRoute;
  t.same(
    findMisgated([gatedRoute, ungated, { ...ungated, method: "get" }, { ...gatedRoute, method: "get" }]),
    ["post /api/marketing/things", "get /api/marketing/things"],
  );
  const gatedElsewhere = routes.filter(
    (route) => route.gate !== undefined && !route.path.startsWith("/api/marketing/"),
  );
  t.same(gatedElsewhere, []);
});
