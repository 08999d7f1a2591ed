import { randomUUID } from "node:crypto";
import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { HOUR } from "../../src/runtime/durations.ts";
import { firstIdAt } from "../../src/runtime/ids.ts";
import { createDatabase } from "../../src/store/database/database.ts";
import { insertBatch } from "../fixtures/messages/batch-rows.ts";
import {
  insertMessage,
  insertSend,
  listPendingSends,
  readMessageState,
} from "../fixtures/messages/message-rows.ts";
import { readMessageEvents } from "../fixtures/messages/sending-context.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

const BEFORE = new Date(Date.now() - HOUR).toISOString();
/** A lease that does not expire while the test runs. */
const IN_AN_HOUR = new Date(Date.now() + HOUR);

t.test("herald queue discard-sends", async (t) => {
  const settings = await testSettings(t);
  const config = readConfig(settings);
  const db = createDatabase(config, () => {});
  t.teardown(() => db.close());
  const context = { db, config };
  const herald = createCommandRunner(t, settings);
  const tenant = await makeTenant(context);
  const channel_id = await makeChannel(context, tenant);
  let lastNumber = 0;
  /** Inserts a queued message that was accepted this many seconds after BEFORE. */
  const insert = async (seconds: number, columns: Record<string, unknown> = {}, client = tenant) => {
    const time = Date.parse(BEFORE) + seconds * 1_000;
    const id = firstIdAt("msg", time) + String(++lastNumber).padStart(16, "0");
    const status = columns.state === "scheduled" ? "scheduled" : "queued";
    await insertMessage(context, client, { id, channel_id, status, batch_id: columns.batch_id ?? null });
    await insertSend(context, client, { id, channel_id, ...columns });
    return id;
  };
  const claimed = { state: "claimed", worker_id: "wrk_1", lease: randomUUID() };
  const discard = ["queue", "discard-sends", "--client", tenant.id, "--before", BEFORE, "--json"];

  t.test("asks for the client's name", async (t) => {
    const id = await insert(-60);
    const { code, err } = await herald(discard, "another name");
    t.equal(code, 1);
    t.match(err, /This fails 1 queued messages of .+ Type the client's name/);
    t.match(await herald(discard), { code: 1, err: /the name must be typed, or --yes given; nothing was/ });
    t.same(await listPendingSends(context), [id]);
    await db.query("delete from sends");
  });

  t.test("fails what was accepted before the time and is not being sent", async (t) => {
    const other = await makeTenant(context);
    const waiting = await insert(-60);
    const behind = await insert(-50, { state: "behind" });
    const ofDead = await insert(-40, { ...claimed, claimed_at: new Date(0) });
    const kept = [
      await insert(-30, { ...claimed, claimed_at: IN_AN_HOUR }),
      await insert(-20, { state: "unknown" }),
      await insert(0),
      await insert(-10, {}, other),
    ];
    const { code, json, err } = await herald([...discard, "--yes"]);
    t.equal(code, 0);
    t.same(json, { discarded: 3 });
    t.equal(err, "1 messages are being sent by a dispatcher and were not discarded\n");
    t.same(await listPendingSends(context), [...kept].sort());
    for (const id of [waiting, behind, ofDead]) {
      t.match(await readMessageState(context, id), { status: "failed", error: { code: "discarded" } });
      t.match(await readMessageEvents(context, id), [
        { type: "message.status", message_id: id, status: "failed", errors: [{ code: "discarded" }] },
      ]);
    }
    const audit = await db.query(
      "select action, actor_type, details from audit_log where action = 'messages.discarded'",
    );
    t.match(audit, [{ actor_type: "operator", details: { before: BEFORE, discarded: 3 } }]);
    t.same((await herald([...discard, "--yes"])).json, { discarded: 0 });
  });

  t.test(
    "fails scheduled messages whose time lies before the time, and messages of paused batches",
    async (t) => {
      await db.query("delete from sends");
      const scheduledFor = (seconds: number) => ({
        state: "scheduled",
        next_attempt_at: new Date(Date.parse(BEFORE) + seconds * 1_000),
      });
      const running = await insertBatch(context, tenant, { channel_id });
      const paused = await insertBatch(context, tenant, { channel_id, status: "paused" });
      const ofBatch = (batch_id: string) => ({ batch_id, expires_at: "infinity" });
      const discarded = [
        await insert(-60, scheduledFor(-1)),
        await insert(-50, ofBatch(running)),
        await insert(-40, ofBatch(paused)),
        await insert(-30, { ...ofBatch(paused), ...scheduledFor(-1) }),
      ];
      const kept = [
        await insert(-20, scheduledFor(0)),
        await insert(-10, { ...ofBatch(paused), ...scheduledFor(3_600) }),
        await insert(1, scheduledFor(3_600)),
      ];
      t.match(await herald([...discard, "--yes"]), { code: 0, json: { discarded: 4 }, err: "" });
      t.same(await listPendingSends(context), [...kept].sort());
      for (const id of discarded)
        t.match(await readMessageState(context, id), { status: "failed", error: { code: "discarded" } });
      for (const id of kept)
        t.match(await readMessageState(context, id), { status: "scheduled", error: null });
      t.match(
        await herald(discard),
        { code: 0, json: { discarded: 0 }, err: "" },
        "nothing is left to ask for",
      );
      await db.query("delete from sends");
    },
  );

  t.test("does not ask when there is nothing to discard, and refuses a time in the future", async (t) => {
    await db.query("delete from sends");
    t.match(await herald(discard), { code: 0, json: { discarded: 0 }, err: "" });
    const id = await insert(-60, { ...claimed, claimed_at: IN_AN_HOUR });
    t.match(await herald(discard), { code: 0, json: { discarded: 0 }, err: /^1 messages are being sent/ });
    const waiting = await insert(-50);
    for (const time of [new Date(Date.now() + HOUR).toISOString(), "2016-12-31T23:59:60Z"])
      t.match(await herald(["queue", "discard-sends", "--client", tenant.id, "--before", time, "--yes"]), {
        code: 2,
        err: "herald: --before must be a time in the past\n",
      });
    t.same(await listPendingSends(context), [id, waiting]);
    await db.query("delete from sends");
  });

  t.test("works in batches", async (t) => {
    for (let index = 0; index < 501; index++) await insert(-1_000 + index);
    t.same((await herald([...discard, "--yes"])).json, { discarded: 501 });
  });
});
