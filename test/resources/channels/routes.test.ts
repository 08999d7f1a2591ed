import t from "tap";
import { PLATFORMS, type Platform } from "../../../src/schema/enumerations.ts";
import { type Api, startApi } from "../../fixtures/http/api.ts";
import { readPages } from "../../fixtures/http/list-pages.ts";
import { makeChannel, newPlatformId } from "../../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../../fixtures/tenants/tenants.ts";

const ABSENT = "ch_01k9zv3m5q8x7w2r4t6y0a1b2c";

/** API calls a client makes with its channels. */
async function channelsOf(api: Api, tenant: Tenant) {
  const { headers } = await tenant.createKey("webhooks:manage");
  return {
    list: (query = "") => api.call("GET", `/api/channels${query}`, { headers }),
    read: (id: string) => api.call("GET", `/api/channels/${id}`, { headers }),
    disconnect: (id: string) => api.call("DELETE", `/api/channels/${id}`, { headers }),
  };
}

/** Reads a client's events with the state of their deliveries. */
const eventsOf = ({ db }: Api, { id }: Tenant) =>
  db.query<{ type: string; key: string; channel_id: string; payload: string; state: string }>(
    `select e.type, e.key, e.channel_id, e.payload, d.state
    from events e
    join deliveries d on d.client_id = e.client_id and d.id = e.id
    where e.client_id = $1
    order by e.id`,
    [id],
  );

const auditOf = async (api: Api, tenant: Tenant, action: string) => {
  const { headers } = await tenant.createUser("owner");
  return (await api.call("GET", `/api/audit?action=${action}`, { headers })).body.data;
};

const idsIn = (rows: { channel_id: string }[]) => rows.map(({ channel_id }) => channel_id);

t.test("channels", async (t) => {
  const api = await startApi(t);
  const newTenant = async () => {
    const tenant = await makeTenant(api);
    return { tenant, channels: await channelsOf(api, tenant) };
  };

  t.test("a channel has only the fields of its platform", async (t) => {
    const { tenant, channels } = await newTenant();
    const [number, waba, page, account] = Array.from({ length: 4 }, newPlatformId) as [
      string,
      string,
      string,
      string,
    ];
    const ids: Record<Platform, object> = {
      chatapp: { phone_number_id: number, waba_id: waba },
      photoapp: { photoapp_user_id: account, page_id: page },
      socialapp: { page_id: page },
    };
    const connection = { phoneNumberId: number, wabaId: waba, pageId: page, photoappUserId: account };
    for (const platform of PLATFORMS) {
      const channel_id = await makeChannel(api, tenant, { ...connection, platform });
      const { connected_at, ...dto } = (await channels.read(channel_id)).body;
      t.same(dto, { channel_id, platform, status: "connected", ...ids[platform] });
    }
    const full = await makeChannel(api, tenant, {
      displayName: "Café",
      displayPhoneNumber: "+55 11 90000-0301",
      templateNamespace: "ns_1",
      externalRef: "ref-1",
    });
    t.match((await channels.read(full)).body, {
      display_name: "Café",
      display_phone_number: "+55 11 90000-0301",
      template_namespace: "ns_1",
      external_ref: "ref-1",
    });
  });

  t.test("no reply contains a token", async (t) => {
    const { tenant, channels } = await newTenant();
    const id = await makeChannel(api, tenant, { token: "a-token-to-look-for" });
    for (const { text } of [await channels.list(), await channels.read(id), await channels.disconnect(id)]) {
      t.notMatch(text, "a-token-to-look-for");
      t.notMatch(text, "sealed");
    }
  });

  t.test("any of three scopes reads channels; only webhooks:manage disconnects", async (t) => {
    const tenant = await makeTenant(api);
    const id = await makeChannel(api, tenant);
    for (const scope of ["templates:manage", "messages:send", "webhooks:manage"] as const) {
      const { headers } = await tenant.createKey(scope);
      t.equal((await api.call("GET", "/api/channels", { headers })).status, 200, scope);
      t.equal((await api.call("GET", `/api/channels/${id}`, { headers })).status, 200, scope);
      const disconnected = await api.call("DELETE", `/api/channels/${id}`, { headers });
      t.equal(disconnected.status, scope === "webhooks:manage" ? 204 : 403, scope);
    }
  });

  t.test("channels are paged newest first, forward and backward", async (t) => {
    const { tenant, channels } = await newTenant();
    const created: string[] = [];
    for (let count = 0; count < 5; count++) created.unshift(await makeChannel(api, tenant));
    await makeChannel(api, await makeTenant(api));
    const { forward, backward } = await readPages<{ channel_id: string }>(channels.list, 2);
    t.same(idsIn(forward), created);
    t.same(idsIn(backward), created);
    const { after } = (await channels.list("?limit=2")).body.paging.cursors;
    const otherChannels = (await newTenant()).channels;
    t.equal((await otherChannels.list(`?after=${after}`)).status, 400, "another client's cursor");
  });

  t.test("channels are filtered by platform and status, and include disconnected ones", async (t) => {
    const { tenant, channels } = await newTenant();
    const chat = await makeChannel(api, tenant);
    const [photo, social] = [
      await makeChannel(api, tenant, { platform: "photoapp" }),
      await makeChannel(api, tenant, { platform: "socialapp" }),
    ];
    await channels.disconnect(photo);
    await api.db.query("update channels set status = 'needs_reauth' where id = $1", [social]);
    const listed = async (query: string) => idsIn((await channels.list(query)).body.data);
    t.same(await listed(""), [social, photo, chat]);
    t.same(await listed("?platform=photoapp"), [photo]);
    t.same(await listed("?status=connected"), [chat]);
    t.same(await listed("?status=needs_reauth"), [social]);
    t.same(await listed("?status=disconnected&platform=photoapp"), [photo]);
    t.same(await listed("?status=disconnected&platform=chatapp"), []);
  });

  t.test("invalid input gets 400, and an unknown channel 404", async (t) => {
    const { channels } = await newTenant();
    for (const query of [
      "?platform=fax",
      "?platform=",
      "?status=gone",
      "?status=connected&status=disconnected",
      "?page_id=1",
      "?limit=0",
      "?after=x",
      "?platform=%00",
    ]) {
      const reply = await channels.list(query);
      t.equal(reply.status, 400, query);
      t.equal(reply.body.error, "validation_failed", query);
    }
    for (const [id, status] of [
      [ABSENT, 404],
      ["ch_1", 400],
      [ABSENT.toUpperCase(), 400],
      [ABSENT.replace("ch_", "key_"), 400],
      ["%00", 400],
    ] as const) {
      t.equal((await channels.read(id)).status, status, id);
      t.equal((await channels.disconnect(id)).status, status, id);
    }
  });

  t.test("another client can neither read nor disconnect the channel", async (t) => {
    const { tenant, channels } = await newTenant();
    const otherChannels = (await newTenant()).channels;
    const id = await makeChannel(api, tenant);
    t.equal((await otherChannels.read(id)).status, 404);
    t.equal((await otherChannels.disconnect(id)).status, 404);
    t.same((await otherChannels.list()).body.data, []);
    t.equal((await channels.read(id)).body.status, "connected");
    t.same(await eventsOf(api, tenant), []);
  });

  t.test("a disconnected channel loses its token and keeps everything else", async (t) => {
    const { tenant, channels } = await newTenant();
    const id = await makeChannel(api, tenant, { displayName: "Café" });
    const before = (await channels.read(id)).body;
    const reply = await channels.disconnect(id);
    t.equal(reply.status, 204);
    t.same((await channels.read(id)).body, { ...before, status: "disconnected" });
    t.same(await api.db.query("select token_sealed from channels where id = $1", [id]), [
      { token_sealed: null },
    ]);
  });

  t.test(
    "disconnecting records one event with the platform's key and the channel's external_ref",
    async (t) => {
      const { tenant, channels } = await newTenant();
      for (const [platform, externalRef] of [
        ["socialapp", "ref-1"],
        ["photoapp", undefined],
      ] as const) {
        const id = await makeChannel(api, tenant, { platform, externalRef });
        t.equal((await channels.disconnect(id)).status, 204);
        t.equal((await channels.disconnect(id)).status, 204, "a second disconnect has no effect");
        const events = (await eventsOf(api, tenant)).filter(({ channel_id }) => channel_id === id);
        t.match(events, [{ type: "channel.disconnected", key: platform, state: "skipped" }]);
        const {
          id: event,
          occurred_at,
          recorded_at,
          api_version,
          ...payload
        } = JSON.parse(events[0]?.payload as string);
        t.same(payload, {
          type: "channel.disconnected",
          key: platform,
          channel_id: id,
          ...(externalRef ? { channel_external_ref: externalRef } : {}),
          data: { reason: "requested" },
        });
        const audit = await auditOf(api, tenant, "channel.disconnected");
        t.match(audit[0], { actor: { type: "api_key" }, target: id, details: { platform } });
        t.equal(audit.filter(({ target }: { target: string }) => target === id).length, 1);
      }
    },
  );

  t.test("a channel with a dead token can be disconnected", async (t) => {
    const { tenant, channels } = await newTenant();
    const id = await makeChannel(api, tenant);
    await api.db.query("update channels set status = 'needs_reauth' where id = $1", [id]);
    t.equal((await channels.disconnect(id)).status, 204);
    t.equal((await channels.read(id)).body.status, "disconnected");
    t.equal((await eventsOf(api, tenant)).length, 1);
  });

  t.test("concurrent disconnects record one event and one audit entry", async (t) => {
    const { tenant, channels } = await newTenant();
    const id = await makeChannel(api, tenant);
    const replies = await Promise.all([1, 2, 3, 4].map(() => channels.disconnect(id)));
    t.same(
      replies.map(({ status }) => status),
      [204, 204, 204, 204],
    );
    t.equal((await eventsOf(api, tenant)).length, 1);
    t.equal((await auditOf(api, tenant, "channel.disconnected")).length, 1);
  });
});
