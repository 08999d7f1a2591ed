import t from "tap";
import { startApi } from "../../fixtures/http/api.ts";
import { readClientEvents, sendWebhook } from "../../fixtures/platforms/webhooks.ts";
import { watchStatements } from "../../fixtures/servers/statements.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { readCachedTemplates } from "../../fixtures/tenants/templates.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

/** Start of the tests' notices, in seconds since 1970. */
const BASE_SECONDS = Math.floor(Date.now() / 1000) - 3_600;

interface Notice {
  field: string;
  value: object;
  /** Seconds after BASE_SECONDS; undefined when the notice has no time. */
  at: number | undefined;
}

const templateFields = (hsmId: string) => ({
  message_template_id: Number(hsmId),
  message_template_name: "cart",
  message_template_language: "en-US",
});

const status = (hsmId: string, event: string, at: number | undefined, rest: object = {}): Notice => ({
  field: "message_template_status_update",
  value: { ...templateFields(hsmId), event, reason: "NONE", ...rest },
  at,
});

const quality = (hsmId: string, previous: string, next: string, at: number): Notice => ({
  field: "message_template_quality_update",
  value: { ...templateFields(hsmId), previous_quality_score: previous, new_quality_score: next },
  at,
});

const category = (hsmId: string, next: string, at: number): Notice => ({
  field: "template_category_update",
  value: { ...templateFields(hsmId), new_category: next },
  at,
});

t.test("template updates from the platform", async (t) => {
  const { statements, database } = watchStatements();
  const api = await startApi(t, { database });
  const sendNotices = async (wabaId: string, ...notices: Notice[]) => {
    const entry = notices.map(({ field, value, at }) => ({
      id: wabaId,
      ...(at === undefined ? {} : { time: BASE_SECONDS + at }),
      changes: [{ field, value }],
    }));
    const reply = await sendWebhook(api, { object: "whatsapp_business_account", entry });
    t.equal(reply.status, 200);
  };
  const newBusiness = async () => {
    const [tenant, wabaId] = [await makeTenant(api), newPlatformId()];
    await makeChannel(api, tenant, { wabaId });
    return { tenant, wabaId, hsmId: String(newPlatformId()).slice(0, 15) };
  };
  const statusOf = async (tenant: Tenant) => (await readCachedTemplates(api, tenant))[0]?.status;
  const eventDataOf = async ({ id }: Tenant, type = "template.status_updated") =>
    (await readClientEvents(api, id))
      .filter((event) => event.type === type)
      .map(({ payload }) => payload.data);

  t.test("a status is stored with its template and recorded as an event", async (t) => {
    const { tenant, wabaId, hsmId } = await newBusiness();
    await sendNotices(wabaId, status(hsmId, "REJECTED", 0, { reason: "INVALID_FORMAT" }));
    const known = {
      hsm_id: hsmId,
      name: "cart",
      language: "en_US",
      status: "REJECTED",
      platform_status: "REJECTED",
      reason: "INVALID_FORMAT",
    };
    t.same(await readCachedTemplates(api, tenant), [
      { ...known, waba_id: wabaId, category: null, quality_score: null },
    ]);
    t.same(await eventDataOf(tenant), [known]);
  });

  t.test("an older status is recorded as an event and changes nothing, in any order", async (t) => {
    for (const [name, order, expected] of [
      [
        "in order",
        [
          ["PENDING", 1],
          ["APPROVED", 2],
          ["PAUSED", 3],
        ],
        "REJECTED",
      ],
      [
        "in reverse",
        [
          ["PAUSED", 3],
          ["APPROVED", 2],
          ["PENDING", 1],
        ],
        "REJECTED",
      ],
      [
        "mixed",
        [
          ["APPROVED", 2],
          ["REINSTATED", 4],
          ["DISABLED", 3],
        ],
        "APPROVED",
      ],
      [
        "the later one counts within one second",
        [
          ["PENDING", 1],
          ["APPROVED", 1],
        ],
        "APPROVED",
      ],
      [
        "repeated",
        [
          ["APPROVED", 2],
          ["APPROVED", 2],
          ["PENDING", 1],
        ],
        "APPROVED",
      ],
      // A notice without a time holds as of its arrival.
      [
        "without a time",
        [
          ["APPROVED", 5],
          ["DISABLED", undefined],
          ["APPROVED", 6],
        ],
        "REJECTED",
      ],
    ] as const) {
      const [separate, combined] = [await newBusiness(), await newBusiness()];
      for (const [event, at] of order) await sendNotices(separate.wabaId, status(separate.hsmId, event, at));
      t.equal(await statusOf(separate.tenant), expected, name);
      await sendNotices(combined.wabaId, ...order.map(([event, at]) => status(combined.hsmId, event, at)));
      t.equal(await statusOf(combined.tenant), expected, `${name}, in one webhook`);
      const words = new Set(order.map(([event]) => event));
      t.same(new Set((await eventDataOf(separate.tenant)).map((data) => data.platform_status)), words);
    }
  });

  t.test("a status with a future time does not block later ones", async (t) => {
    const { tenant, wabaId, hsmId } = await newBusiness();
    await sendNotices(wabaId, status(hsmId, "PENDING", 365 * 86_400));
    await sendNotices(wabaId, status(hsmId, "APPROVED", undefined));
    t.equal(await statusOf(tenant), "APPROVED");
  });

  t.test("an update without a status is recorded with the stored one", async (t) => {
    for (const word of ["FLAGGED", "UNARCHIVED"]) {
      const { tenant, wabaId, hsmId } = await newBusiness();
      await sendNotices(wabaId, status(hsmId, word, 1));
      t.same(await readCachedTemplates(api, tenant), [], "an unknown template is not stored");
      await sendNotices(wabaId, status(hsmId, "APPROVED", 2), status(hsmId, word, 3));
      await sendNotices(wabaId, status(hsmId, word, 9));
      t.equal(await statusOf(tenant), "APPROVED");
      await sendNotices(wabaId, status(hsmId, "PAUSED", 8));
      t.equal(
        await statusOf(tenant),
        "REJECTED",
        "an update without a status does not change the status's time",
      );
      await sendNotices(wabaId, status(hsmId, word, 10));
      const told = (await eventDataOf(tenant)).filter((data) => data.platform_status === word);
      t.same(
        told.map((data) => data.status),
        [undefined, "APPROVED", "APPROVED", "REJECTED"],
      );
      t.match(told[3], { hsm_id: hsmId, name: "cart", language: "en_US", reason: "NONE" });
    }
  });

  t.test("quality and category are stored for known templates and recorded as events", async (t) => {
    const { tenant, wabaId, hsmId } = await newBusiness();
    await sendNotices(wabaId, quality(hsmId, "UNKNOWN", "GREEN", 1));
    t.same(await readCachedTemplates(api, tenant), []);
    await sendNotices(wabaId, status(hsmId, "APPROVED", 5));
    await sendNotices(wabaId, quality(hsmId, "UNKNOWN", "RED", 4), category(hsmId, "UTILITY", 4));
    t.match(
      await readCachedTemplates(api, tenant),
      [{ quality_score: null, category: null }],
      "older than the stored status",
    );
    await sendNotices(
      wabaId,
      quality(hsmId, "YELLOW", "RED", 8),
      category(hsmId, "MARKETING", 7),
      quality(hsmId, "GREEN", "YELLOW", 6),
    );
    const traits = { quality_score: "RED", category: "MARKETING" };
    t.match(await readCachedTemplates(api, tenant), [{ ...traits, status: "APPROVED" }]);
    await sendNotices(wabaId, status(hsmId, "DISABLED", 6));
    t.match(
      await readCachedTemplates(api, tenant),
      [{ ...traits, status: "REJECTED" }],
      "a status that arrives late still counts",
    );
    const it = { hsm_id: hsmId, name: "cart", language: "en_US" };
    t.same((await eventDataOf(tenant, "template.quality_updated")).at(0), {
      ...it,
      before: "UNKNOWN",
      after: "GREEN",
    });
    t.same((await eventDataOf(tenant, "template.category_updated")).at(0), { ...it, after: "UTILITY" });
  });

  t.test("each client of a business has its own rows and events", async (t) => {
    const { tenant, wabaId, hsmId } = await newBusiness();
    const other = await makeTenant(api);
    await sendNotices(wabaId, status(hsmId, "APPROVED", 1));
    await makeChannel(api, other, { wabaId });
    await sendNotices(wabaId, status(hsmId, "FLAGGED", 2));
    t.same(
      [(await eventDataOf(tenant)).at(-1)?.status, (await eventDataOf(other)).at(-1)?.status],
      ["APPROVED", undefined],
      "one client's stored status is not used for the other",
    );
    await sendNotices(wabaId, status(hsmId, "PAUSED", 3));
    t.same([await statusOf(tenant), await statusOf(other)], ["REJECTED", "REJECTED"]);
    await api.db.query("delete from clients where id = $1", [other.id]);
    t.same(await readCachedTemplates(api, other), [], "rows are deleted with their client");
    t.equal(await statusOf(tenant), "REJECTED");
  });

  t.test("a notice that cannot be stored does not affect the others", async (t) => {
    const { tenant, wabaId, hsmId } = await newBusiness();
    const malformed = (value: object) => status(hsmId, "APPROVED", 1, value);
    const notices = [
      malformed({ message_template_name: "a\u0000b" }),
      malformed({ message_template_name: "\ud800" }),
      malformed({ message_template_name: "x".repeat(20_000) }),
      malformed({ message_template_name: undefined }),
      malformed({ message_template_language: null }),
      malformed({ message_template_id: "\u0000" }),
      malformed({ message_template_id: "9".repeat(5_000) }),
      malformed({ message_template_id: { of: "another form" } }),
      malformed({ message_template_id: "\u0000", event: "FLAGGED" }),
      malformed({ event: "\u0000" }),
      malformed({ reason: "\u0000" }),
      {
        field: "template_category_update",
        value: { ...templateFields(hsmId), new_category: "\u0000" },
        at: 1,
      },
    ];
    await sendNotices(wabaId, ...notices, status("77", "APPROVED", 2));
    t.match(await readCachedTemplates(api, tenant), [{ hsm_id: "77", status: "APPROVED" }]);
    t.equal(
      (await readClientEvents(api, tenant.id)).length,
      notices.length + 1,
      "all are recorded as events",
    );
  });

  t.test("a hundred notices take as few statements as one", async (t) => {
    const { tenant, wabaId } = await newBusiness();
    const ids = Array.from({ length: 100 }, (_, index) => String(500 + index));
    const before = statements.length;
    await sendNotices(
      wabaId,
      ...ids.map((id) => status(id, "APPROVED", 1)),
      ...ids.map((id) => category(id, "MARKETING", 2)),
      ...ids.map((id) => status(id, "FLAGGED", 3)),
    );
    t.equal(statements.length - before, 5, "owners, statuses, categories, stored statuses and events");
    const rows = await readCachedTemplates(api, tenant);
    t.equal(rows.length, 100);
    t.ok(rows.every((row) => row.status === "APPROVED" && row.category === "MARKETING"));
    t.ok((await eventDataOf(tenant)).every((data) => data.status === "APPROVED"));
    const then = statements.length;
    const text = { messaging_product: "whatsapp", messages: [{ id: "wamid.1", from: "1", type: "text" }] };
    await sendNotices(wabaId, { field: "messages", value: text, at: 1 });
    t.notOk(statements.slice(then).some((statement) => /\btemplates\b/.test(statement)));
  });
});
