import t from "tap";
import { exampleOf } from "../../../src/http/openapi/example-of.ts";
import { embedResult } from "../../../src/schema/channels.ts";
import { ORIGIN, type SignupHost, startSignupContext } from "../../fixtures/embed/signup.ts";
import { startApi } from "../../fixtures/http/api.ts";

const PATH = "/api/embed/sessions";
const VALID = { allowed_origins: [ORIGIN] };

t.test("embed sessions", async (t) => {
  const context = await startSignupContext(t);
  const { api, makeHost } = context;
  const create = (host: SignupHost, json: object, key?: string) =>
    host.call("POST", PATH, json, key === undefined ? {} : { "idempotency-key": key });
  const setExpiry = (id: string, age: string) =>
    api.db.query("update embed_sessions set expires_at = now() - $2::interval where id = $1", [id, age]);
  const setStatus = (id: string, status: string) =>
    api.db.query("update embed_sessions set status = $2, result = $3 where id = $1", [
      id,
      status,
      status === "completed" ? JSON.stringify(exampleOf(embedResult, "result")) : null,
    ]);

  t.test("a session is created with its defaults, and its token is stored as a hash only", async (t) => {
    const host = await makeHost();
    const before = Date.now();
    const { status, body, headers } = await create(host, VALID);
    t.equal(status, 201);
    const { id, url, token, expires_at, created_at, ...rest } = body;
    t.match(id, /^es_[0-9a-z]{26}$/);
    t.match(token, /^[0-9A-Za-z]{43}$/);
    t.equal(url, `${api.config.PUBLIC_URL}/embed/${token}`);
    t.equal(headers.get("location"), `${PATH}/${id}`);
    t.same(rest, {
      status: "pending",
      allowed_origins: [ORIGIN],
      platforms: ["chatapp"],
      external_ref: null,
      prefill: null,
      theme: "auto",
      locale: "auto",
      accent_color: null,
    });
    t.equal(Date.parse(expires_at) - Date.parse(created_at), 30 * 60_000);
    t.ok(Math.abs(Date.parse(created_at) - before) < 60_000);
    const [row] = await api.db.query<{ text: string }>(
      "select s::text as text from embed_sessions s where id = $1",
      [id],
    );
    t.notMatch(row?.text, token);

    const read = await host.call("GET", `${PATH}/${id}`);
    const unset = { opened_at: null, completed_at: null, revoked_at: null, result: null, error: null };
    t.same(read.body, { id, expires_at, created_at, ...rest, ...unset });
    const owner = await host.createUser("owner");
    const audit = await api.call("GET", "/api/audit?action=embed_session.created", owner);
    t.match(audit.body.data, [
      { target: id, details: { allowed_origins: [ORIGIN], platforms: ["chatapp"] } },
    ]);
    t.notMatch(audit.text, token);
  });

  t.test("all fields are kept, and the prefill is passed through unchanged", async (t) => {
    const host = await makeHost();
    const fields = {
      allowed_origins: [ORIGIN, "http://localhost:3000", "http://127.0.0.1", "https://a-b.example.com:8443"],
      platforms: ["socialapp", "photoapp"],
      external_ref: "store <42> & söhne",
      ttl_minutes: 1_440,
      theme: "light",
      locale: "pt",
      accent_color: "#7A1f5c",
    };
    const prefill = '{"business":{"name":"Café","id":12345678901234567890},"other":{"a":[1]}}';
    const raw = `${JSON.stringify(fields).slice(0, -1)},"prefill":${prefill}}`;
    const key = await host.createKey("webhooks:manage");
    const created = await api.call("POST", PATH, { ...key, raw });
    t.equal(created.status, 201);
    const { ttl_minutes: _, ...kept } = fields;
    t.match(created.body, kept);
    t.match(created.text, prefill);
    const read = await host.call("GET", `${PATH}/${created.body.id}`);
    t.match(read.body, kept);
    t.match(read.text, prefill);
    t.equal(Date.parse(read.body.expires_at) - Date.parse(read.body.created_at), 86_400_000);
  });

  t.test("a refused list of origins says which origin is wrong and how to write it", async (t) => {
    const host = await makeHost();
    const messageOf = async (...allowed_origins: string[]) =>
      (await create(host, { allowed_origins })).body.message;
    t.match(
      await messageOf("https://café.example.com"),
      /punycode form, such as https:\/\/xn--caf-dma\.example/,
    );
    t.equal(await messageOf(ORIGIN, ORIGIN), `allowed_origins must not contain ${ORIGIN} more than once`);
  });

  t.test("an accent colour must be readable on the light page", async (t) => {
    const host = await makeHost();
    const colored = (accent_color: string, theme = "auto") => create(host, { ...VALID, accent_color, theme });
    t.equal(
      (await colored("#777777")).body.message,
      "accent_color must have a contrast of at least 4.5 to white unless theme is dark; #777777 has 4.47",
    );
    t.match(await colored("#767676"), { status: 201, body: { accent_color: "#767676" } });
    t.match(await colored("#ffff00", "dark"), { status: 201, body: { theme: "dark" } });
  });

  t.test("invalid fields get 400 and are named", async (t) => {
    const host = await makeHost();
    const origins = (...allowed_origins: unknown[]) => ({ allowed_origins });
    const wrong: [string, object][] = [
      ["/allowed_origins", {}],
      ["/allowed_origins", origins()],
      ["/allowed_origins", origins(...Array.from({ length: 21 }, (_, n) => `https://a${n}.example`))],
      ["/allowed_origins", origins(ORIGIN, ORIGIN)],
      ["/allowed_origins/0", origins(`${ORIGIN}/`)],
      ["/allowed_origins/1", origins(ORIGIN, "http://app.example.com")],
      ...[
        "*",
        "https://*.example.com",
        "https://app.example.com/path",
        "https://App.example.com",
        "https://app.example.com:443",
        "https://user@app.example.com",
        "https://a;script-src",
        "https://a.example https://b.example",
        "https://1.2.3",
        "http://localhost.example.com",
        "ftp://localhost",
        "null",
        "",
        `https://${"a".repeat(300)}.example`,
      ].map((origin): [string, object] => ["/allowed_origins/0", origins(origin)]),
      ["/platforms", { ...VALID, platforms: [] }],
      ["/platforms", { ...VALID, platforms: ["chatapp", "chatapp"] }],
      ["/platforms/0", { ...VALID, platforms: ["fax"] }],
      ["/external_ref", { ...VALID, external_ref: "" }],
      ["/external_ref", { ...VALID, external_ref: null }],
      ["/external_ref", { ...VALID, external_ref: "x".repeat(257) }],
      ["/ttl_minutes", { ...VALID, ttl_minutes: 0 }],
      ["/ttl_minutes", { ...VALID, ttl_minutes: 1_441 }],
      ["/ttl_minutes", { ...VALID, ttl_minutes: 1.5 }],
      ["/ttl_minutes", { ...VALID, ttl_minutes: "30" }],
      ["/prefill", { ...VALID, prefill: [] }],
      ["/prefill/business/name", { ...VALID, prefill: { business: { name: 1 } } }],
      ["/prefill", { ...VALID, prefill: { text: "ä".repeat(1_000) } }],
      ["/theme", { ...VALID, theme: "blue" }],
      ["/theme", { ...VALID, theme: null }],
      ["/locale", { ...VALID, locale: "de" }],
      ...["#7a1f5", "7a1f5c", "#7a1f5cff", "red", "#7a1f5g", "", null].map(
        (accent_color): [string, object] => ["/accent_color", { ...VALID, accent_color }],
      ),
      ["/accent_color", { ...VALID, accent_color: "#ffff00" }],
      ["/accent_color", { ...VALID, accent_color: "#777777", theme: "light" }],
      ["/extra", { ...VALID, extra: 1 }],
    ];
    for (const [path, json] of wrong) {
      const reply = await create(host, json);
      t.match(
        reply,
        { status: 400, body: { error: "validation_failed", details: [{ path }] } },
        JSON.stringify(json).slice(0, 100),
      );
    }
    const large = await create(host, { ...VALID, prefill: { text: "x".repeat(2_000_000) } });
    t.match(large, { status: 400, body: { message: "prefill must have at most 16384 bytes" } });
    t.same((await host.call("GET", PATH)).body.data, []);
  });

  t.test(
    "the list is filtered by status and external_ref, and an expired session reads expired",
    async (t) => {
      const host = await makeHost();
      const ids: Record<string, string> = {};
      for (const name of ["pending", "opened", "failed", "completed", "revoked", "late"])
        ids[name] = (await create(host, { ...VALID, external_ref: name })).body.id;
      for (const status of ["opened", "failed", "completed", "revoked"])
        await setStatus(ids[status] as string, status);
      const statusesOf = async (query: string) =>
        (await host.call("GET", `${PATH}?${query}`)).body.data.map(
          ({ external_ref, status }: Record<string, string>) => [external_ref, status],
        );
      await setExpiry(ids.late as string, "0 seconds");
      t.same(await statusesOf("status=expired"), [["late", "expired"]]);
      t.same(await statusesOf("status=pending"), [["pending", "pending"]]);
      t.same(await statusesOf("external_ref=failed"), [["failed", "failed"]]);
      t.same(await statusesOf("external_ref=failed&status=opened"), []);
      for (const id of Object.values(ids)) await setExpiry(id, "1 second");
      t.same(await statusesOf("limit=2"), [
        ["late", "expired"],
        ["revoked", "revoked"],
      ]);
      t.same(
        (await statusesOf("")).map(([, status]: string[]) => status),
        ["expired", "revoked", "completed", "expired", "expired", "expired"],
      );
      for (const query of ["status=unknown", "external_ref=", "token=x"])
        t.equal((await host.call("GET", `${PATH}?${query}`)).status, 400, query);
    },
  );

  t.test("a session is revoked unless it is completed or expired, and only once", async (t) => {
    const host = await makeHost();
    const revoke = (id: string) => host.call("POST", `${PATH}/${id}/revoke`);
    for (const status of ["pending", "opened", "failed"]) {
      const { id } = (await create(host, VALID)).body;
      await setStatus(id, status);
      const { status: code, body } = await revoke(id);
      t.equal(code, 200);
      t.match(body, { id, status: "revoked", revoked_at: String });
      t.same((await revoke(id)).body, body, "revoking it again changes nothing");
    }
    const [completed, expired] = [(await create(host, VALID)).body.id, (await create(host, VALID)).body.id];
    await setStatus(completed, "completed");
    await setExpiry(expired, "1 second");
    for (const id of [completed, expired])
      t.match(await revoke(id), { status: 409, body: { error: "session_not_revocable" } });
    t.equal((await revoke(`es_${"0".repeat(26)}`)).status, 404);
    t.equal((await revoke("es_unknown")).status, 400);
    const owner = await host.createUser("owner");
    const audit = await api.call("GET", "/api/audit?action=embed_session.revoked", owner);
    t.equal(audit.body.data.length, 3);
  });

  t.test("a repeated Idempotency-Key gets the first reply with its token, in every process", async (t) => {
    const host = await makeHost();
    const other = await startApi(t, { config: api.config });
    const key = await host.createKey("webhooks:manage");
    const createAt = (at: typeof api, name: string, json: object = VALID) =>
      at.call("POST", PATH, { headers: { ...key.headers, "idempotency-key": name }, json });
    const first = await createAt(api, "k");
    t.equal(first.status, 201);
    t.equal(first.headers.get("idempotent-replay"), null);
    for (const at of [api, other]) {
      const again = await createAt(at, "k");
      t.equal(again.status, 201);
      t.equal(again.text, first.text);
      t.equal(again.headers.get("idempotent-replay"), "true");
      t.equal(again.headers.get("location"), first.headers.get("location"));
      t.equal((await createAt(at, "k", { ...VALID, ttl_minutes: 5 })).body.error, "idempotency_key_reused");
    }
    const [stored] = await api.db.query<{ text: string }>(
      "select k::text as text from idempotency_keys k where client_id = $1",
      [host.id],
    );
    t.notMatch(stored?.text, first.body.token);

    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => createAt(index % 2 ? api : other, "concurrent")),
    );
    t.ok(replies.every(({ status }) => status === 201));
    t.equal(new Set(replies.map(({ text }) => text)).size, 1);
    t.equal((await host.call("GET", PATH)).body.data.length, 2);

    t.equal((await createAt(api, "freed", { allowed_origins: [] })).status, 400);
    t.equal((await createAt(api, "freed")).status, 201, "a refused request does not use the key up");
  });
});
