import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { newId, timeOfId } from "../../src/runtime/ids.ts";
import { configureWebhook, makeEventAt, makeEvents, updateDelivery } from "../fixtures/events/events.ts";
import { startApi } from "../fixtures/http/api.ts";
import { updateRow } from "../fixtures/messages/messages.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { grantAdAccount } from "../fixtures/tenants/ad-accounts.ts";
import { makeChannel } from "../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../fixtures/tenants/tenants.ts";

const UNKNOWN_CLIENT = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";
const LISTS = ["channel", "events", "audit"] as const;

t.test("lists of the command line", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
  const listFor =
    ({ id }: Tenant) =>
    (name: string, ...words: string[]) =>
      herald([name, "list", "--client", id, ...words, "--json"]);
  const list = listFor(tenant);
  const owner = await tenant.createUser("owner");

  t.test("channel list has the client's channels as the API shows them, and filters them", async (t) => {
    const page = await makeChannel(api, tenant, { platform: "socialapp" });
    const chat = await makeChannel(api, tenant, { externalRef: "shop-7" });
    await makeChannel(api, other);
    const { headers } = await tenant.createKey("messages:send", "webhooks:manage");
    const { data } = (await api.call("GET", "/api/channels", { headers })).body;
    t.same((await list("channel")).json, { data });
    await api.call("DELETE", `/api/channels/${page}`, { headers });
    const filtered = [
      await list("channel", "--platform", "chatapp"),
      await list("channel", "--status", "connected"),
    ];
    for (const { json } of filtered) t.match(json, { data: [{ channel_id: chat }] });
    const { out } = await herald(["channel", "list", "--client", tenant.id]);
    t.match(out, /^channel_id +platform +status +display_name .*connected_at\n/);
    t.match(out, new RegExp(`\n${page} +socialapp +disconnected `));
  });

  t.test("ad-account list has the accounts of a client or of all, without tokens", async (t) => {
    const [one, another] = [await makeTenant(api), await makeTenant(api)];
    const first = await grantAdAccount(api, one, { token: "t0ken-of-the-account" });
    const second = await grantAdAccount(api, another, { status: "revoked" });
    const all = await herald("ad-account list --json");
    const byClient = (id: string) =>
      all.json.data.filter(({ client_id }: { client_id: string }) => client_id === id);
    t.match(byClient(one.id), [{ id: first.id, ad_account_id: first.adAccountId, status: "active" }]);
    t.match(byClient(another.id), [{ id: second.id, status: "revoked", token_expires_at: null }]);
    t.notMatch(all.out, /t0ken-of-the-account|sealed/);
    t.match((await herald(["ad-account", "list", "--client", one.id, "--json"])).json, {
      data: [{ id: first.id }],
    });
    t.match((await herald("ad-account list --status revoked --json")).json, { data: [{ id: second.id }] });
    t.same((await herald(["ad-account", "list", "--client", one.id, "--status", "revoked", "--json"])).json, {
      data: [],
    });
    t.match(
      (await herald("ad-account list")).out,
      /^client_id +id +ad_account_id +name +status +account_status_label /,
    );
    t.match(await herald(["ad-account", "list", "--client", UNKNOWN_CLIENT]), {
      code: 1,
      err: /there is no client/,
    });
    t.match(await herald("ad-account list --status lost"), {
      code: 2,
      err: /must be one of available, active/,
    });
  });

  t.test("channel list without a client has the channels of all clients", async (t) => {
    const [one, another] = [await makeTenant(api), await makeTenant(api)];
    const channels = [
      await makeChannel(api, one),
      await makeChannel(api, another, { platform: "socialapp" }),
    ];
    for (const id of channels) await updateRow(api, "channels", { id, status: "needs_reauth" });
    const { json } = await herald("channel list --status needs_reauth --json");
    t.match(json.data, [
      { client_id: another.id, channel_id: channels[1], status: "needs_reauth" },
      { client_id: one.id, channel_id: channels[0], status: "needs_reauth" },
    ]);
    t.equal(json.data.length, 2);
    t.match((await herald("channel list --platform socialapp --json")).json.data[0], {
      client_id: another.id,
    });
    const { out } = await herald("channel list");
    t.match(out, /^client_id +channel_id +platform +status .*phone_number_id +page_id +photoapp_user_id /);
    for (const { id } of [tenant, other, one, another]) t.match(out, `\n${id} `);
  });

  t.test("events list has the API's filters and a limit", async (t) => {
    const tenant = await makeTenant(api); // without events of its channels
    const list = listFor(tenant);
    await configureWebhook(api, tenant);
    const about = newId("msg");
    const [first, second] = (await makeEvents(api, tenant, { messageId: about }, { key: "socialapp" })) as [
      string,
      string,
    ];
    await makeEvents(api, other, {});
    await updateDelivery(api, first, { state: "failed", last_error: "HTTP 503", next_attempt_at: null });
    const old = await makeEventAt(api, tenant, Date.now() - 3 * 86_400_000);
    const idsOf = async (...words: string[]) =>
      (await list("events", ...words)).json.data.map(({ id }: { id: string }) => id);
    t.same((await idsOf()).sort(), [first, second, old].sort());
    t.same(await idsOf("--status", "failed"), [first]);
    t.same(await idsOf("--message-id", about), [first]);
    t.same(await idsOf("--key", "socialapp"), [second]);
    t.same(await idsOf("--key", "socialapp", "--type", "template.status_updated"), []);
    t.same(await idsOf("--until", new Date(Date.now() - 86_400_000).toISOString()), [old]);
    const limited = await list("events", "--limit", "2");
    t.equal(limited.json.data.length, 2);
    t.match(limited.err, "There are more than 2: add filters or raise --limit\n");
    t.match(
      (await herald(["events", "list", "--client", tenant.id])).out,
      /^id +type +key +status .*\n.* failed .*HTTP 503/s,
    );
    const { out } = await herald(["events", "list", "--client", tenant.id, "--message-id", about]);
    t.match(out, / occurred_at +recorded_at\n/);
    t.ok(out.trimEnd().endsWith(new Date(timeOfId(first)).toISOString()));
  });

  t.test("audit list has the API's filters", async (t) => {
    const all = (await api.call("GET", "/api/audit?limit=100", { headers: owner.headers })).body.data;
    t.same((await list("audit")).json, { data: all });
    const { action, actor } = all.at(-1);
    const filters = ["--action", action, "--actor-id", actor.id];
    const filtered = (await list("audit", ...filters)).json.data;
    t.ok(filtered.length > 0);
    t.ok(
      filtered.every((entry: (typeof all)[number]) => entry.action === action && entry.actor.id === actor.id),
    );
    t.match(
      (await herald(["audit", "list", "--client", tenant.id])).out,
      /^at +action +actor +target .*details\n/,
    );
    t.equal((await list("audit", "--limit", "1")).json.data.length, 1);
    const { at } = all[0];
    const having = (isIncluded: (entryAt: string) => boolean) =>
      all.filter((entry: (typeof all)[number]) => isIncluded(entry.at));
    t.same(
      (await list("audit", "--since", at, "--until", at)).json.data,
      having((other) => other === at),
    );
    const [before, after] = [-1, 1].map((offset) => new Date(Date.parse(at) + offset).toISOString());
    t.same((await list("audit", "--since", after as string)).json, { data: [] });
    t.same(
      (await list("audit", "--until", before as string)).json.data,
      having((other) => other < at),
    );
    const wrong = ["--since", at, "--until", before as string];
    t.match(await list("audit", ...wrong), { code: 2, err: /--since must not be later than --until/ });
    t.equal((await list("audit", "--until", "now")).code, 2);
  });

  t.test("an unknown client fails, and wrong options are usage errors", async (t) => {
    for (const name of LISTS)
      t.match(await herald([name, "list", "--client", UNKNOWN_CLIENT]), {
        code: 1,
        err: /there is no client/,
      });
    const wrong = [
      ["--limit", "0"],
      ["--limit", "10001"],
      ["--since", "x"],
      ["--status", "x"],
      ["--channel-id", "x"],
    ];
    for (const words of wrong) t.equal((await list("events", ...words)).code, 2, words.join(" "));
  });
});
