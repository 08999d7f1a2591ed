import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { newId } from "../../src/runtime/ids.ts";
import { openChannelToken } from "../../src/security/sealed-tokens.ts";
import { createSecretBox } from "../../src/security/secret-box.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeChannel, newPlatformId } from "../fixtures/tenants/channels.ts";
import { makeTenant, type Tenant } from "../fixtures/tenants/tenants.ts";

const UNKNOWN_CLIENT = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";

t.test("herald channel add", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const box = createSecretBox(api.config.ENCRYPTION_KEYS);

  const add = (client: string, words: string[], typed?: string) =>
    herald(["channel", "add", "--client", client, ...words, "--json"], typed);
  const read = async (tenant: Tenant, id: string) => {
    const { headers } = await tenant.createKey("messages:send");
    return (await api.call("GET", `/api/channels/${id}`, { headers })).body;
  };
  const tokenOf = async (id: string) => {
    const [row] = await api.db.query<{ token_sealed: string | null }>(
      "select token_sealed from channels where id = $1",
      [id],
    );
    return row?.token_sealed ? openChannelToken(box, id, row.token_sealed) : row?.token_sealed;
  };
  const chatapp = (token = "t0ken") => ({
    number: newPlatformId(),
    waba: newPlatformId(),
    words(this: { number: string; waba: string }) {
      const ids = ["--phone-number-id", this.number, "--waba-id", this.waba];
      return ["--platform", "chatapp", "--token", token, ...ids];
    },
  });

  t.test("connects a channel of each platform", async (t) => {
    const tenant = await makeTenant(api);
    const kinds: [string, Record<string, string>][] = [
      ["chatapp", { phone_number_id: newPlatformId(), waba_id: newPlatformId() }],
      ["photoapp", { photoapp_user_id: newPlatformId(), page_id: newPlatformId() }],
      ["socialapp", { page_id: newPlatformId() }],
    ];
    for (const [platform, ids] of kinds) {
      const words = Object.entries(ids).flatMap(([name, id]) => [`--${name.replaceAll("_", "-")}`, id]);
      const more = ["--name", "Café Olé", "--external-ref", "store 42"];
      const added = await add(tenant.id, [
        "--platform",
        platform,
        "--token",
        `of-${platform}`,
        ...words,
        ...more,
      ]);
      t.equal(added.code, 0, added.err);
      const { channel_id } = added.json;
      t.match(channel_id, /^ch_/);
      const { connected_at, ...dto } = await read(tenant, channel_id);
      const named = { display_name: "Café Olé", external_ref: "store 42" };
      t.same(dto, { channel_id, platform, status: "connected", ...ids, ...named });
      t.ok(Math.abs(Date.parse(connected_at) - Date.now()) < 60_000);
      t.equal(await tokenOf(channel_id), `of-${platform}`);
    }
  });

  t.test("records the channel and the operator in the audit log, but not the token", async (t) => {
    const tenant = await makeTenant(api);
    const number = chatapp("a-token-to-look-for");
    const { channel_id } = (await add(tenant.id, number.words())).json;
    const { headers } = await tenant.createUser("owner");
    const audit = await api.call("GET", "/api/audit?action=channel.connected", { headers });
    t.match(audit.body.data, [{ actor: { type: "operator" }, target: channel_id }]);
    t.same(audit.body.data[0].details, { platform: "chatapp", asset_id: number.number });
    t.notMatch(audit.text, "a-token-to-look-for");
    t.same(await api.db.query("select id from events where client_id = $1", [tenant.id]), []);
  });

  t.test("reads the token from standard input and never prints it", async (t) => {
    const tenant = await makeTenant(api);
    const added = await herald(
      ["channel", "add", "--client", tenant.id, ...chatapp("-").words()],
      "typed-token",
    );
    t.equal(added.code, 0);
    t.match(added.out, /^channel_id {2}ch_\w{26}\n$/);
    t.equal(await tokenOf(added.out.slice(-30).trim()), "typed-token");
    t.equal(added.err, "");
  });

  t.test("replaces the token of the client's channel and keeps what is not given", async (t) => {
    const tenant = await makeTenant(api);
    const [first, second] = [chatapp("one"), chatapp("two")];
    second.number = first.number;
    const named = ["--name", "Old name", "--external-ref", "ref-1"];
    const { channel_id } = (await add(tenant.id, [...first.words(), ...named])).json;
    const before = await read(tenant, channel_id);
    t.same((await add(tenant.id, [...second.words(), "--name", "New name"])).json, { channel_id });
    t.same(await read(tenant, channel_id), { ...before, waba_id: second.waba, display_name: "New name" });
    t.equal(await tokenOf(channel_id), "two");
  });

  t.test("takes a channel over from another client only with --take-over", async (t) => {
    const [former, next] = [await makeTenant(api), await makeTenant(api)];
    const number = chatapp("former");
    const { channel_id } = (await add(former.id, [...number.words(), "--external-ref", "mine"])).json;
    const refused = await add(next.id, number.words());
    t.equal(refused.code, 1);
    t.equal(refused.out, "");
    t.match(
      refused.err,
      new RegExp(`another client has connected the chatapp channel ${number.number}.*--take-over`),
    );
    t.notMatch(refused.err, former.id);
    t.equal((await read(former, channel_id)).status, "connected");

    const taken = await add(next.id, [...number.words(), "--take-over"]);
    t.equal(taken.code, 0);
    t.not(taken.json.channel_id, channel_id);
    t.equal((await read(next, taken.json.channel_id)).status, "connected");
    t.equal((await read(former, channel_id)).status, "disconnected");
    t.equal(await tokenOf(channel_id), null);
  });

  t.test("reports invalid options with exit code 2 and changes nothing", async (t) => {
    const tenant = await makeTenant(api);
    const [CHATAPP, PHOTOAPP, SOCIALAPP] = ["chatapp", "photoapp", "socialapp"].map((platform) => [
      "--platform",
      platform,
      "--token",
      "secret-token",
    ]) as [string[], string[], string[]];
    const number = ["--phone-number-id", "1", "--waba-id", "2"];
    const wrong: [RegExp, string[]][] = [
      [/--platform <PLATFORM>' not specified/, ["--token", "t", ...number]],
      [/--token <TOKEN>' not specified/, ["--platform", "chatapp", ...number]],
      [/--platform must be one of chatapp, photoapp, socialapp/, ["--platform", "fax", "--token", "t"]],
      [/--phone-number-id is required for chatapp/, [...CHATAPP, "--waba-id", "2"]],
      [/--waba-id is required for chatapp/, [...CHATAPP, "--phone-number-id", "1"]],
      [/--page-id is not used for chatapp/, [...CHATAPP, ...number, "--page-id", "3"]],
      [/--photoapp-user-id is not used for chatapp/, [...CHATAPP, ...number, "--photoapp-user-id", "3"]],
      [/--photoapp-user-id is required for photoapp/, [...PHOTOAPP, "--page-id", "1"]],
      [/--page-id is required for photoapp/, [...PHOTOAPP, "--photoapp-user-id", "1"]],
      [/--page-id is required for socialapp/, SOCIALAPP],
      [/--waba-id is not used for socialapp/, [...SOCIALAPP, "--page-id", "1", "--waba-id", "2"]],
      [/--page-id must have 1 to 32 digits/, [...SOCIALAPP, "--page-id", "one"]],
      [/--page-id must have 1 to 32 digits/, [...SOCIALAPP, "--page-id", ""]],
      [/--page-id must have 1 to 32 digits/, [...SOCIALAPP, "--page-id", "1".repeat(33)]],
      [/--page-id must have 1 to 32 digits/, [...SOCIALAPP, "--page-id", "1\n"]],
      [/--external-ref must not be empty/, [...SOCIALAPP, "--page-id", "1", "--external-ref", ""]],
      [
        /--external-ref must have at most 256 characters/,
        [...SOCIALAPP, "--page-id", "1", "--external-ref", "x".repeat(257)],
      ],
      [/--name must have 1 to 200 characters/, [...SOCIALAPP, "--page-id", "1", "--name", " "]],
    ];
    for (const [message, words] of wrong) {
      const { code, out, err } = await add(tenant.id, words);
      t.equal(code, 2, words.join(" "));
      t.equal(out, "");
      t.match(err, message);
      t.notMatch(err, "secret-token");
    }
    for (const token of ["with space", "naïve-token", "tab\ttoken", "x".repeat(4097)])
      for (const [word, typed] of [
        [token, ""],
        ["-", token],
      ] as const) {
        const words = ["--platform", "socialapp", "--page-id", "1", "--token", word];
        const { code, err } = await add(tenant.id, words, typed);
        t.equal(code, 2);
        t.match(err, /--token must have 1 to 4096 visible ASCII characters/);
        t.notMatch(err, token);
      }
    t.match(await add(tenant.id, ["--platform", "socialapp", "--page-id", "1", "--token", "-"]), {
      code: 2,
      err: /--token is read from standard input, which was empty/,
    });
    t.same(await api.db.query("select id from channels where client_id = $1", [tenant.id]), []);
  });

  t.test("reports an unknown client with exit code 1", async (t) => {
    t.match(await add(UNKNOWN_CLIENT, chatapp().words()), { code: 1, err: /there is no client 6f1d/ });
  });

  t.test("stores the token encrypted, so that a key rotation re-encrypts it", async (t) => {
    const tenant = await makeTenant(api);
    const { channel_id } = (await add(tenant.id, chatapp("to-be-rotated").words())).json;
    const fresh = `fresh:${Buffer.alloc(32, 7).toString("base64")}`;
    const keys = { ...settings, ENCRYPTION_KEYS: `${fresh},${settings.ENCRYPTION_KEYS}` };
    t.match((await createCommandRunner(t, keys)("secrets rotate --json")).json, { left: 0 });
    const [row] = await api.db.query<{ token_sealed: string }>(
      "select token_sealed from channels where id = $1",
      [channel_id],
    );
    const freshBox = createSecretBox(readConfig({ ...settings, ENCRYPTION_KEYS: fresh }).ENCRYPTION_KEYS);
    t.equal(openChannelToken(freshBox, channel_id, row?.token_sealed ?? ""), "to-be-rotated");
  });
});

t.test("herald channel disconnect", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const tenant = await makeTenant(api);
  const { name } = (
    await api.db.query<{ name: string }>("select name from clients where id = $1", [tenant.id])
  )[0] as {
    name: string;
  };
  const [id, other] = [await makeChannel(api, tenant), await makeChannel(api, tenant)];
  const stateOf = async (channel: string) =>
    (
      await api.db.query<{ status: string; has_token: boolean }>(
        "select status, token_sealed is not null as has_token from channels where id = $1",
        [channel],
      )
    )[0];

  t.test("asks for the client's name, and changes nothing without it", async (t) => {
    for (const typed of ["", "Someone else"]) {
      const { code, err } = await herald(["channel", "disconnect", id], typed);
      t.equal(code, 1);
      t.match(err, `This disconnects the channel ${id} of "${name}"; its queued messages fail.`);
      t.match(err, "nothing was changed");
    }
    t.same(await stateOf(id), { status: "connected", has_token: true });
  });

  t.test("erases the token, tells the client and its audit log, once", async (t) => {
    const { code, json } = await herald(["channel", "disconnect", id, "--json"], name);
    t.equal(code, 0);
    t.match(json, { client_id: tenant.id, channel_id: id, status: "disconnected" });
    t.same(await stateOf(id), { status: "disconnected", has_token: false });
    t.same(await stateOf(other), { status: "connected", has_token: true });
    t.equal((await herald(["channel", "disconnect", id, "--yes"])).code, 0, "a second time changes nothing");
    const events = await api.db.query(
      "select 1 from events where type = 'channel.disconnected' and channel_id = $1",
      [id],
    );
    t.equal(events.length, 1);
    const { json: audit } = await herald([
      "audit",
      "list",
      "--client",
      tenant.id,
      "--action",
      "channel.disconnected",
      "--json",
    ]);
    t.match(audit.data, [
      { target: id, actor: { type: "operator", name: / at / }, details: { reason: "requested" } },
    ]);
    t.equal(audit.data.length, 1);
  });

  t.test("an unknown or malformed id is refused", async (t) => {
    const unknown = newId("ch");
    t.match(await herald(["channel", "disconnect", unknown]), {
      code: 1,
      err: `herald: there is no channel ${unknown}\n`,
    });
    t.match(await herald(["channel", "disconnect", "42"]), { code: 2, err: /must be a complete id/ });
  });
});
