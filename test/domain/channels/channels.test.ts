import t from "tap";
import type { ConnectOutcome } from "../../../src/domain/channels/channels.ts";
import { disconnectChannel } from "../../../src/domain/channels/channels.ts";
import { deleteClient } from "../../../src/domain/tenants/delete-client.ts";
import { openChannelToken } from "../../../src/security/sealed-tokens.ts";
import { createSecretBox } from "../../../src/security/secret-box.ts";
import { startApi } from "../../fixtures/http/api.ts";
import { untilBlocked } from "../../fixtures/servers/lock-waits.ts";
import { connectRawClient } from "../../fixtures/servers/servers.ts";
import { makeActor } from "../../fixtures/tenants/actors.ts";
import { makeChannel, newPlatformId, tryConnectChannel } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

interface StoredChannel {
  id: string;
  client_id: string;
  status: string;
  token_sealed: string | null;
  platform_user_id: string | null;
  template_namespace: string | null;
  connected_at: Date;
}

const outcomes = (connections: ConnectOutcome[]) => connections.map(({ outcome }) => outcome).sort();

t.test("connecting a channel", async (t) => {
  const api = await startApi(t);
  const { db } = api;
  const box = createSecretBox(api.config.ENCRYPTION_KEYS);
  const makeTenants = (count: number) => Promise.all(Array.from({ length: count }, () => makeTenant(api)));

  const readChannel = async (id: string) => {
    const [row] = await db.query<StoredChannel>("select * from channels where id = $1", [id]);
    return row as StoredChannel;
  };
  const channelsFor = (phoneNumberId: string) =>
    db.query<StoredChannel>("select * from channels where phone_number_id = $1 order by id", [phoneNumberId]);
  /** The payloads of a client's events, oldest first. */
  const eventsFor = async ({ id }: Tenant) => {
    const rows = await db.query<{ payload: string }>(
      "select payload from events where client_id = $1 order by id",
      [id],
    );
    return rows.map(({ payload }) => JSON.parse(payload));
  };
  const disconnect = ({ id: clientId }: Tenant, id: string) => disconnectChannel(db, makeActor(clientId), id);
  /** Connects a channel as of a day ago and sets its status. */
  const connectInPast = async (tenant: Tenant, phoneNumberId: string, status: string) => {
    const id = await makeChannel(api, tenant, { phoneNumberId, token: "before" });
    await db.query("update channels set status = $2, connected_at = now() - interval '1 day' where id = $1", [
      id,
      status,
    ]);
    return id;
  };

  t.test("reconnecting updates the channel and resets connected_at unless it was connected", async (t) => {
    for (const [status, isNew] of [
      ["connected", false],
      ["needs_reauth", true],
      ["disconnected", true],
    ] as const) {
      const [[tenant], phoneNumberId] = [await makeTenants(1), newPlatformId()];
      const id = await connectInPast(tenant as Tenant, phoneNumberId, status);
      const { connected_at: before } = await readChannel(id);
      t.equal(await makeChannel(api, tenant as Tenant, { phoneNumberId, token: "after" }), id, status);
      const row = await readChannel(id);
      t.equal(row.status, "connected");
      t.equal(openChannelToken(box, id, row.token_sealed as string), "after");
      t.equal(row.connected_at.getTime() > before.getTime(), isNew, status);
      t.equal((await channelsFor(phoneNumberId)).length, 1);
    }
  });

  t.test("reconnecting a disconnected channel keeps its id and the details that are not given", async (t) => {
    const [tenant] = (await makeTenants(1)) as [Tenant];
    const phoneNumberId = newPlatformId();
    const id = await makeChannel(api, tenant, { phoneNumberId, externalRef: "ref-1", displayName: "Café" });
    t.ok(await disconnect(tenant, id));
    t.equal(await makeChannel(api, tenant, { phoneNumberId, displayName: "Bar" }), id);
    t.match(await readChannel(id), { status: "connected", external_ref: "ref-1", display_name: "Bar" });
    t.equal((await eventsFor(tenant)).length, 1, "only the disconnect has an event");
  });

  t.test("reconnecting replaces the platform user and clears another business's namespace", async (t) => {
    const [tenant] = (await makeTenants(1)) as [Tenant];
    const [phoneNumberId, wabaId] = [newPlatformId(), newPlatformId()];
    const first = { phoneNumberId, wabaId, platformUserId: "77", templateNamespace: "ns_1" };
    const id = await makeChannel(api, tenant, first);
    t.match(await readChannel(id), { platform_user_id: "77", template_namespace: "ns_1" });
    await makeChannel(api, tenant, { phoneNumberId, wabaId });
    t.match(await readChannel(id), { platform_user_id: null, template_namespace: "ns_1" });
    await makeChannel(api, tenant, { phoneNumberId, wabaId: newPlatformId(), platformUserId: "78" });
    t.match(await readChannel(id), { platform_user_id: "78", template_namespace: null });
  });

  t.test("one page on two platforms is two channels", async (t) => {
    const [one, other] = (await makeTenants(2)) as [Tenant, Tenant];
    const pageId = newPlatformId();
    t.not(
      await makeChannel(api, one, { platform: "socialapp", pageId }),
      await makeChannel(api, other, { platform: "photoapp", pageId, photoappUserId: pageId }),
    );
  });

  t.test("an asset of another client is taken, even with a dead token", async (t) => {
    for (const status of ["connected", "needs_reauth"]) {
      const [holder, other] = (await makeTenants(2)) as [Tenant, Tenant];
      const phoneNumberId = newPlatformId();
      const id = await connectInPast(holder, phoneNumberId, status);
      t.same(await tryConnectChannel(api, other, { phoneNumberId }), { outcome: "taken" });
      t.same(
        (await channelsFor(phoneNumberId)).map((row) => [row.id, row.status]),
        [[id, status]],
      );
      t.same(await eventsFor(holder), []);
    }
  });

  t.test("connecting an asset that another client disconnected records no event for it", async (t) => {
    const [former, next] = (await makeTenants(2)) as [Tenant, Tenant];
    const phoneNumberId = newPlatformId();
    const id = await connectInPast(former, phoneNumberId, "disconnected");
    t.not(await makeChannel(api, next, { phoneNumberId, takeOver: true }), id);
    t.same(await eventsFor(former), []);
  });

  t.test("a take-over disconnects the former channel without revealing the new client", async (t) => {
    const [former, next] = (await makeTenants(2)) as [Tenant, Tenant];
    const phoneNumberId = newPlatformId();
    const id = await makeChannel(api, former, { phoneNumberId, externalRef: "mine" });
    const taken = await makeChannel(api, next, { phoneNumberId, takeOver: true });
    t.match(await readChannel(id), { status: "disconnected", token_sealed: null });
    t.match(await readChannel(taken), { status: "connected", client_id: next.id });
    const [event, ...more] = await eventsFor(former);
    t.same(more, []);
    t.match(event, {
      type: "channel.disconnected",
      key: "chatapp",
      channel_id: id,
      channel_external_ref: "mine",
      data: { reason: "taken_over" },
    });
    t.same(await eventsFor(next), []);
    const { headers } = await former.createUser("owner");
    const audit = await api.call("GET", "/api/audit?action=channel.disconnected", { headers });
    t.match(audit.body.data, [
      {
        actor: { type: "service", id: "herald", name: "Herald" },
        target: id,
        address: null,
        request_id: null,
        details: { reason: "taken_over", asset_id: phoneNumberId },
      },
    ]);
    t.notMatch(audit.text, next.id);

    t.equal(
      await makeChannel(api, former, { phoneNumberId, takeOver: true }),
      id,
      "taking it back keeps the id",
    );
    t.match(await eventsFor(next), [{ channel_id: taken, data: { reason: "taken_over" } }]);
  });

  t.test("a failed transaction rolls back the take-over and its events", async (t) => {
    const [former, next] = (await makeTenants(2)) as [Tenant, Tenant];
    const phoneNumberId = newPlatformId();
    const id = await makeChannel(api, former, { phoneNumberId });
    const failing = {
      ...api,
      db: {
        ...db,
        transaction: <T>(work: Parameters<typeof db.transaction<T>>[0]) =>
          db.transaction<T>(async (tx) => {
            await work(tx);
            throw new Error("what comes after it fails");
          }),
      },
    };
    await t.rejects(tryConnectChannel(failing, next, { phoneNumberId, takeOver: true }), /what comes after/);
    t.match(await channelsFor(phoneNumberId), [{ id, status: "connected", token_sealed: String }]);
    t.same(await eventsFor(former), []);
  });

  t.test("concurrent connects by several clients succeed for one and are taken for the others", async (t) => {
    const all = await makeTenants(5);
    const phoneNumberId = newPlatformId();
    const connections = await Promise.all(
      all.map((tenant) => tryConnectChannel(api, tenant, { phoneNumberId })),
    );
    t.same(outcomes(connections), ["connected", "taken", "taken", "taken", "taken"]);
    t.equal((await channelsFor(phoneNumberId)).length, 1);
  });

  t.test("concurrent connects by several former owners succeed for one", async (t) => {
    const all = await makeTenants(5);
    const phoneNumberId = newPlatformId();
    for (const tenant of all) await connectInPast(tenant, phoneNumberId, "disconnected");
    const connections = await Promise.all(
      all.map((tenant) => tryConnectChannel(api, tenant, { phoneNumberId })),
    );
    t.same(outcomes(connections), ["connected", "taken", "taken", "taken", "taken"]);
  });

  t.test("an asset inserted concurrently without the lock is taken, not an error", async (t) => {
    const [one, other] = (await makeTenants(2)) as [Tenant, Tenant];
    const phoneNumberId = newPlatformId();
    const raw = await connectRawClient(t, api.config.DATABASE_URL);
    await raw.query("begin");
    await raw.query(
      "insert into channels (id, client_id, platform, phone_number_id, waba_id) values ($1, $2, 'chatapp', $3, '1')",
      [`ch_${"0".repeat(26)}`, one.id, phoneNumberId],
    );
    const secondConnect = tryConnectChannel(api, other, { phoneNumberId });
    await untilBlocked(raw, 1);
    await raw.query("commit");
    t.same(await secondConnect, { outcome: "taken" });
  });

  t.test("concurrent take-overs leave one channel and record one event for each other client", async (t) => {
    const all = await makeTenants(6);
    const phoneNumberId = newPlatformId();
    const connections = await Promise.all(
      all.map((tenant) => tryConnectChannel(api, tenant, { phoneNumberId, takeOver: true })),
    );
    t.ok(connections.every(({ outcome }) => outcome === "connected"));
    const rows = await channelsFor(phoneNumberId);
    const [winner, ...more] = rows.filter(({ status }) => status === "connected");
    t.same(more, []);
    t.ok(rows.every((row) => (row.token_sealed === null) === (row !== winner)));
    for (const tenant of all)
      t.equal((await eventsFor(tenant)).length, tenant.id === winner?.client_id ? 0 : 1);
  });

  t.test("concurrent connects by one client make one channel", async (t) => {
    const [tenant] = (await makeTenants(1)) as [Tenant];
    const phoneNumberId = newPlatformId();
    const ids = await Promise.all([1, 2, 3, 4].map(() => makeChannel(api, tenant, { phoneNumberId })));
    t.equal(new Set(ids).size, 1);
    t.equal((await channelsFor(phoneNumberId)).length, 1);
  });

  t.test("a concurrent connect and disconnect end in one consistent state", async (t) => {
    const [tenant] = (await makeTenants(1)) as [Tenant];
    const phoneNumberId = newPlatformId();
    const id = await makeChannel(api, tenant, { phoneNumberId });
    for (let round = 1; round <= 5; round++) {
      const [reconnected] = await Promise.all([
        makeChannel(api, tenant, { phoneNumberId }),
        disconnect(tenant, id),
      ]);
      t.equal(reconnected, id);
      const { status, token_sealed } = await readChannel(id);
      t.equal(status === "connected", token_sealed !== null);
      t.equal((await eventsFor(tenant)).length, round);
      await makeChannel(api, tenant, { phoneNumberId });
    }
  });

  t.test("a connect that waits for a disconnect reconnects the channel", async (t) => {
    const [tenant] = (await makeTenants(1)) as [Tenant];
    const phoneNumberId = newPlatformId();
    const id = await connectInPast(tenant, phoneNumberId, "connected");
    const raw = await connectRawClient(t, api.config.DATABASE_URL);
    await raw.query("begin");
    await raw.query("update channels set status = 'disconnected', token_sealed = null where id = $1", [id]);
    const reconnected = makeChannel(api, tenant, { phoneNumberId });
    await untilBlocked(raw, 1);
    await raw.query("commit");
    t.equal(await reconnected, id);
    t.match(await readChannel(id), { status: "connected", token_sealed: String });
  });

  t.test("a take-over and a concurrent deletion of the former client both succeed", async (t) => {
    for (let round = 0; round < 5; round++) {
      const [former, next] = (await makeTenants(2)) as [Tenant, Tenant];
      const phoneNumberId = newPlatformId();
      await makeChannel(api, former, { phoneNumberId });
      const [connection] = await Promise.all([
        tryConnectChannel(api, next, { phoneNumberId, takeOver: true }),
        deleteClient(db, former.id),
      ]);
      t.equal(connection.outcome, "connected");
      t.match(await channelsFor(phoneNumberId), [{ client_id: next.id, status: "connected" }]);
      t.same(await eventsFor(former), []);
    }
  });
});
