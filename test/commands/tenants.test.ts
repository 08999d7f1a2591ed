import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { SCOPES } from "../../src/schema/enumerations.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { connectRawClient } from "../fixtures/servers/servers.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { until } from "../fixtures/until.ts";

const UNKNOWN_CLIENT = "6f1d3c2a-8a54-4f0e-9d0b-3a1f5c7e9b21";

t.test("herald", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings), credentialTtlMs: 100 });
  const herald = createCommandRunner(t, settings);
  const whoAmI = (headers: Record<string, string>) => api.call("GET", "/api/auth/me", { headers });
  const userCreate = (client: string, name: string, role: string) =>
    `user create --client ${client} --email ${name.toLowerCase()}@example.com --name ${name} --role ${role}`;
  const newClient = async (name: string) =>
    (await herald(["client", "create", "--name", name, "--json"])).json.client_id as string;

  t.test("creates a working client, user and API key", async (t) => {
    const client = await newClient("A new client");
    t.match((await herald(["client", "list", "--json"])).json.data, [
      { client_id: client, name: "A new client" },
    ]);
    t.match(
      (await herald(["client", "list"])).out,
      new RegExp(`^client_id +name +created_at\n${client} +A new client`),
    );

    const user = await herald(`${userCreate(client, "Ann", "owner")} --json`);
    t.equal(user.code, 0);
    t.match(user.json, { user_id: /^usr_/, password: /^\w{20}$/ });
    const login = { email: "ann@example.com", password: user.json.password };
    t.equal((await api.call("POST", "/api/auth/login", { json: login })).status, 200);

    const { token } = (await herald(["user", "token", "--user", user.json.user_id, "--json"])).json;
    t.match((await whoAmI({ authorization: `Bearer ${token}` })).body, { client_id: client, role: "owner" });

    const key = await herald(`key create --client ${client} --name K --scopes ${SCOPES.join(",")} --json`);
    t.match(key.json, { id: /^key_/, key: /^svc_test_/ });
    t.match((await whoAmI({ "x-svc-api-key": key.json.key })).body, {
      client_id: client,
      role: null,
      scopes: SCOPES,
    });

    const audit = await api.call("GET", "/api/audit", { headers: { authorization: `Bearer ${token}` } });
    t.match(
      audit.body.data.map((entry: { action: string; actor: unknown }) => [entry.action, entry.actor]),
      [
        ["key.created", { type: "operator", id: "herald", name: / at / }],
        ["user.token_issued", { type: "operator" }],
        ["session.started", { type: "operator" }],
        ["session.started", { type: "user", id: user.json.user_id }],
        ["user.created", { type: "operator" }],
      ],
    );
  });

  t.test("reads a password from standard input and does not print it", async (t) => {
    const client = await newClient("c");
    const words = userCreate(client, "Bo", "viewer");
    const made = await herald(`${words} --password -`, "a secret of mine");
    t.equal(made.code, 0);
    t.match(made.out, /^user_id {2}usr_\w{26}\n$/);
    const login = { email: "bo@example.com", password: "a secret of mine" };
    t.equal((await api.call("POST", "/api/auth/login", { json: login })).status, 200);
  });

  t.test("lists API keys without their secrets, and revokes them", async (t) => {
    const client = await newClient("c");
    const create = `key create --client ${client} --name K --scopes messages:send --json`;
    const [first, second] = [await herald(create), await herald(`${create} --expires 90d`)];
    t.equal((await herald(["key", "revoke", "--id", first.json.id])).code, 0);
    const list = await herald(["key", "list", "--client", client, "--json"]);
    t.match(list.json.data, [
      { id: second.json.id, expires_at: String, revoked_at: null },
      { id: first.json.id, expires_at: null, revoked_at: String },
    ]);
    const ends = new Date(list.json.data[0].expires_at).getTime() - Date.now();
    t.ok(Math.abs(ends - 90 * 86_400_000) < 60_000);
    for (const { json } of [first, second]) t.notMatch(list.out, json.key.slice(-43));
    await until(
      "the key is rejected",
      async () => (await whoAmI({ "x-svc-api-key": first.json.key })).status === 401,
    );
    t.equal((await herald(["key", "revoke", "--id", first.json.id])).code, 0, "revoking twice succeeds");
  });

  t.test("lists users and sets a user's password", async (t) => {
    const client = await newClient("c");
    const words = userCreate(client, "Di", "owner");
    const { user_id, password } = (await herald(`${words} --json`)).json;
    const { data } = (await herald(["user", "list", "--client", client, "--json"])).json;
    t.match(data, [{ user_id, email: "di@example.com", role: "owner", enabled: true }]);
    t.notMatch(JSON.stringify(data), "scrypt");
    const fresh = (await herald(["user", "password", "--user", user_id, "--json"])).json;
    const login = (given: string) =>
      api.call("POST", "/api/auth/login", { json: { email: "di@example.com", password: given } });
    t.equal((await login(password)).status, 401);
    const { token } = (await login(fresh.password)).body;
    const told = await herald(
      ["user", "password", "--user", user_id, "--password", "-", "--json"],
      "a piped password",
    );
    t.same(told.json, { user_id });
    t.equal((await login("a piped password")).status, 200);
    await until(
      "the previous token is rejected",
      async () => (await whoAmI({ authorization: `Bearer ${token}` })).status === 401,
    );
  });

  t.test("disables and enables a user, but not the last owner", async (t) => {
    const client = await newClient("c");
    const owner = (await herald(`${userCreate(client, "Gus", "owner")} --json`)).json;
    const { user_id, password } = (await herald(`${userCreate(client, "Hal", "member")} --json`)).json;
    const signIn = () =>
      api.call("POST", "/api/auth/login", { json: { email: "hal@example.com", password } });
    const { token } = (await signIn()).body;
    const disabled = await herald(["user", "disable", "--user", user_id, "--json"]);
    t.same(disabled.json, { user_id, email: "hal@example.com", enabled: false });
    t.equal((await signIn()).status, 401);
    await until(
      "the token is rejected",
      async () => (await whoAmI({ authorization: `Bearer ${token}` })).status === 401,
    );
    t.equal(
      (await herald(["user", "disable", "--user", user_id])).code,
      0,
      "disabling twice changes nothing",
    );
    t.match((await herald(["user", "enable", "--user", user_id, "--json"])).json, { enabled: true });
    t.equal((await signIn()).status, 200);
    const refused = await herald(["user", "disable", "--user", owner.user_id]);
    t.match(refused, {
      code: 1,
      out: "",
      err: /is the last enabled owner of its client: create another owner/,
    });
    const { data } = (
      await herald(["audit", "list", "--client", client, "--action", "user.updated", "--json"])
    ).json;
    t.match(data, [
      { target: user_id, details: { enabled: { from: false, to: true } } },
      { target: user_id, details: { enabled: { from: true, to: false } }, actor: { type: "operator" } },
    ]);
  });

  t.test("records an issued token in the audit log", async (t) => {
    const client = await newClient("c");
    const words = userCreate(client, "Ed", "owner");
    const { user_id } = (await herald(`${words} --json`)).json;
    const { token } = (await herald(["user", "token", "--user", user_id, "--ttl", "1h", "--json"])).json;
    const audit = await api.call("GET", "/api/audit", { headers: { authorization: `Bearer ${token}` } });
    t.match(audit.body.data[0], {
      action: "user.token_issued",
      target: user_id,
      address: null,
      request_id: null,
      details: { ttl_seconds: 3_600 },
    });
  });

  t.test("an issued token has a session without an address, which its user can end", async (t) => {
    const client = await newClient("c");
    const { user_id } = (await herald(`${userCreate(client, "Flo", "viewer")} --json`)).json;
    const { token } = (await herald(["user", "token", "--user", user_id, "--ttl", "1h", "--json"])).json;
    const headers = { authorization: `Bearer ${token}` };
    const [session] = (await api.call("GET", "/api/auth/sessions", { headers })).body.data;
    t.match(session, { id: /^ses_/, address: null, user_agent: null, current: true });
    const lifetime = Date.parse(session.expires_at) - Date.parse(session.created_at);
    t.ok(Math.abs(lifetime - 3_600_000) < 60_000);
    t.equal((await api.call("DELETE", `/api/auth/sessions/${session.id}`, { headers })).status, 204);
    t.equal((await whoAmI(headers)).status, 401);
  });

  t.test("issues a token with the given lifetime", async (t) => {
    const words = userCreate(await newClient("c"), "Cy", "member");
    const { user_id } = (await herald(`${words} --json`)).json;
    const { token } = (await herald(["user", "token", "--user", user_id, "--ttl", "30m", "--json"])).json;
    const { iat, exp } = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
    t.ok(Math.abs(exp - iat - 1_800) < 1);
  });

  t.test("deletes a client, and nothing else, after its name is typed", async (t) => {
    const [gone, kept] = [await makeTenant(api, "To be erased"), await makeTenant(api, "To be kept")];
    for (const tenant of [gone, kept])
      await Promise.all([tenant.createKey("messages:send"), tenant.createUser("owner")]);
    const raw = await connectRawClient(t, settings.DATABASE_URL as string);
    const tables = await raw.query(
      "select table_name as name from information_schema.columns where column_name = 'client_id' and table_schema = 'public'",
    );
    const rowsOf = async (id: string) => {
      const counts: Record<string, number> = {};
      for (const { name } of tables.rows) {
        const { rows } = await raw.query(`select count(*) from ${name} where client_id = $1`, [id]);
        counts[name] = Number(rows[0].count);
      }
      return counts;
    };
    const before = await rowsOf(kept.id);
    t.match(before, { users: 1, api_keys: 1, audit_log: 1 });

    const refused = await herald(["client", "delete", "--id", gone.id], "to be erased");
    t.equal(refused.code, 1);
    t.match(refused.err, /Type the client's name to confirm:\n.*nothing was deleted/);
    t.same(await rowsOf(gone.id), before);

    t.equal((await herald(["client", "delete", "--id", gone.id], "To be erased")).code, 0);
    t.ok(Object.values(await rowsOf(gone.id)).every((count) => count === 0));
    t.same(await rowsOf(kept.id), before);
    t.equal((await herald(["client", "delete", "--id", kept.id, "--yes"])).code, 0);
  });

  t.test("reports failures with exit code 1", async (t) => {
    const client = await newClient("c");
    const user = (id: string) => userCreate(id, "Taken", "owner").split(" ");
    t.equal((await herald(user(client))).code, 0);
    const impossible: [RegExp, string[]][] = [
      [/the email taken@example.com is already in use/, user(client)],
      [/there is no client 6f1d/, user(UNKNOWN_CLIENT)],
      [/there is no client 6f1d/, ["client", "delete", "--id", UNKNOWN_CLIENT, "--yes"]],
      [/there is no client 6f1d/, ["key", "list", "--client", UNKNOWN_CLIENT]],
      [/there is no user usr_/, ["user", "token", "--user", `usr_${"0".repeat(26)}`]],
      [/there is no user usr_/, ["user", "disable", "--user", `usr_${"0".repeat(26)}`]],
      [/there is no key key_/, ["key", "revoke", "--id", `key_${"0".repeat(26)}`]],
    ];
    for (const [message, words] of impossible) {
      const { code, out, err } = await herald(words);
      t.equal(code, 1);
      t.equal(out, "");
      t.match(err, message);
    }
  });

  t.test("reports invalid command lines with exit code 2", async (t) => {
    const client = ["--client", UNKNOWN_CLIENT];
    const wrong: [RegExp, string[]][] = [
      [/unknown command 'clients'/, ["clients"]],
      [/unknown command 'make'/, ["client", "make"]],
      [/Usage: herald client/, ["client"]],
      [/required option '--name <NAME>' not specified/, ["client", "create"]],
      [/unknown option '--colour'/, ["client", "list", "--colour", "red"]],
      [/too many arguments/, ["client", "list", "all"]],
      [/--name must have 1 to 200 characters/, ["client", "create", "--name", " "]],
      [/--name .*and no control characters/, ["client", "create", "--name", "red\u001b[31m"]],
      [/--id must be a client id/, ["client", "delete", "--id", "17"]],
      [
        /--role must be one of owner, admin/,
        ["user", "create", ...client, "--email", "a@b.example", "--name", "N", "--role", "king"],
      ],
      [
        /--email must be a valid email/,
        ["user", "create", ...client, "--email", "ann", "--name", "N", "--role", "owner"],
      ],
      [
        /--scopes must be one of templates:manage/,
        ["key", "create", ...client, "--name", "N", "--scopes", "all"],
      ],
      [
        /--expires must be a duration such as 90d/,
        ["key", "create", ...client, "--name", "N", "--scopes", "messages:send", "--expires", "soon"],
      ],
      [/--ttl must be a duration/, ["user", "token", "--user", `usr_${"0".repeat(26)}`, "--ttl", "0h"]],
      [/--user must be a complete id: usr_ and 26 characters/, ["user", "token", "--user", "ann"]],
    ];
    for (const [message, words] of wrong) {
      const { code, out, err } = await herald(words);
      t.equal(code, 2, words.join(" "));
      t.equal(out, "");
      t.match(err, message);
    }
    const short = [
      "user",
      "create",
      ...client,
      "--email",
      "a@b.example",
      "--name",
      "N",
      "--role",
      "owner",
      "--password",
      "-",
    ];
    const refused = await herald(short, "hunter2");
    t.equal(refused.code, 2);
    t.match(refused.err, /--password must have at least 8 characters/);
    t.notMatch(refused.err, "hunter2");
    t.match(await herald(short, ""), {
      code: 2,
      err: /--password is read from standard input, which was empty/,
    });
  });

  t.test("reports invalid settings, missing tables and an unreachable database", async (t) => {
    const unset = await createCommandRunner(t, {})(["client", "list"]);
    t.equal(unset.code, 1);
    t.match(unset.err, /4 wrong settings:[\s\S]*run npm start, name its folder with --folder/);
    const wrong = await createCommandRunner(t, { ...settings, PORT: "high" })(["client", "list"]);
    t.match(wrong, { code: 1, err: /PORT must be .*\nherald doctor shows how to correct settings\n$/ });
    const lost = await createCommandRunner(t, {})(["client", "list", "--folder", "nowhere"]);
    t.match(lost, { code: 2, err: /--folder nowhere has no file env: npm start has not run there/ });
    const empty = {
      ...settings,
      DATABASE_URL: (settings.DATABASE_URL as string).replace(/[^/]+$/, "postgres"),
    };
    t.match(await createCommandRunner(t, empty)(["client", "list"]), {
      code: 1,
      err: /run herald migrate first/,
    });
    const unreachable = { ...settings, DATABASE_URL: "postgres://u:a-password@127.0.0.1:1/x" };
    const refused = await createCommandRunner(t, unreachable)(["client", "list"]);
    t.match(refused, { code: 1, err: /Postgres is not available: .*ECONNREFUSED/ });
    t.notMatch(refused.err, "a-password");
  });

  t.test("refuses to issue a token when an identity provider issues them", async (t) => {
    const { JWT_SECRET, ...others } = settings;
    const provider = { JWT_JWKS_URL: "http://127.0.0.1:1/keys", JWT_ISSUER: "i", JWT_AUDIENCE: "a" };
    const refused = await createCommandRunner(t, { ...others, ...provider })([
      "user",
      "token",
      "--user",
      `usr_${"0".repeat(26)}`,
    ]);
    t.match(refused, { code: 1, err: /JWT_SECRET is not set/ });
  });

  t.test("prints help and version with exit code 0", async (t) => {
    for (const words of [["--help"], ["client", "--help"], ["client", "create", "--help"], ["--version"]]) {
      const { code, out, err } = await herald(words);
      t.equal(code, 0);
      t.equal(err, "");
      t.ok(out.length > 0);
    }
  });
});
