import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readConfig } from "../../src/runtime/config/config.ts";
import { startApi } from "../fixtures/http/api.ts";
import { createCommandRunner } from "../fixtures/processes/command-line.ts";
import { testSettings } from "../fixtures/processes/settings.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";

const KIB = 1_024;

t.test("herald terms", async (t) => {
  const settings = await testSettings(t);
  const api = await startApi(t, { config: readConfig(settings) });
  const herald = createCommandRunner(t, settings);
  const folder = makeTempFolder(t);
  const writeTermsFile = (content: string | Buffer, name = "terms.txt") => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const publish = (version: string, file: string) =>
    herald(["terms", "publish", "--version", version, "--file", file, "--json"]);
  const current = async () => (await herald(["terms", "current", "--json"])).json;
  const { headers } = await (await makeTenant(api)).createKey("marketing:read");
  const text = async () => (await api.call("GET", "/api/marketing/terms/text", { headers })).body;

  t.test("shows the initial version before any other is published", async (t) => {
    t.match(await current(), { version: "2026-11-01", published_at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ });
    t.match((await herald(["terms", "current"])).out, /^version +2026-11-01\npublished_at +\d{4}-/);
  });

  t.test("publishes a version and reports how many clients must accept it again", async (t) => {
    const [one, other] = [await makeTenant(api), await makeTenant(api)];
    for (const tenant of [one, other]) {
      const { headers } = await tenant.createUser("owner");
      const json = { version: "2026-11-01" };
      t.equal((await api.call("POST", "/api/marketing/terms/accept", { headers, json })).status, 200);
    }
    const content = "1. You pay.\r\n2. Ação, 責任 and 🐢.\n";
    const published = await publish("2027-01-01", writeTermsFile(content));
    t.match(published, { code: 0, json: { version: "2027-01-01", published_at: String } });
    t.same(Object.keys(published.json), ["version", "published_at"]);
    t.equal(published.err, "clients that accepted 2026-11-01 and must accept the new version: 2\n");
    t.same(await current(), published.json);
    t.same(await text(), { version: "2027-01-01", text: content });
    t.match((await publish("2027-01-02", writeTermsFile("x"))).err, /accept the new version: 0\n/);
  });

  t.test("accepts every version of visible ASCII characters and a file of the maximum size", async (t) => {
    for (const version of ["1", "v2.0_(draft)~!\"'$\\", "x".repeat(64)]) {
      t.equal((await publish(version, writeTermsFile("x".repeat(256 * KIB)))).code, 0, version);
      t.equal((await current()).version, version);
    }
    t.equal((await publish("bom", writeTermsFile("\ufeffText"))).code, 0);
    t.equal((await text()).text, "Text", "a byte order mark is not part of the text");
  });

  t.test("does not publish a version twice", async (t) => {
    const before = await current();
    const again = await publish("2027-01-01", writeTermsFile("Another text"));
    t.match(again, { code: 1, out: "", err: /version 2027-01-01 already exists/ });
    t.match(await publish("2026-11-01", writeTermsFile("x")), { code: 1 });
    t.same(await current(), before);
  });

  t.test("reports an invalid file with exit code 1", async (t) => {
    const before = await current();
    const bad: [RegExp, string][] = [
      [/nothing\.txt cannot be read: .*/, join(folder, "nothing.txt")],
      [/cannot be read/, folder],
      [/ is empty/, writeTermsFile("", "empty")],
      [/ is empty/, writeTermsFile(" \n\t\r\n", "blank")],
      [/ is larger than 256 KiB/, writeTermsFile("x".repeat(256 * KIB + 1), "large")],
      [/ is larger than 256 KiB/, "/dev/zero"],
      [/ is not UTF-8 text/, writeTermsFile(Buffer.from([0x41, 0xe9, 0x41]), "latin")],
      [/ is not UTF-8 text/, writeTermsFile(Buffer.from([0xed, 0xa0, 0x80]), "surrogate")],
      [/ contains the character U\+0000/, writeTermsFile("a\u0000b", "zero")],
    ];
    for (const [message, file] of bad) {
      const { code, out, err } = await publish("never", file);
      t.equal(code, 1, file);
      t.equal(out, "");
      t.match(err, message);
    }
    t.same(await current(), before);
  });

  t.test("reports invalid options with exit code 2", async (t) => {
    const file = writeTermsFile("x");
    for (const version of ["", " ", "a b", "x".repeat(65), "é", "a\n", "a\u0000", "🐢"]) {
      const { code, err } = await publish(version, file);
      t.equal(code, 2, JSON.stringify(version));
      t.match(err, /--version must have 1 to 64 visible ASCII characters/);
    }
    t.match(await herald(["terms", "publish", "--file", file]), {
      code: 2,
      err: /required option '--version <VERSION>' not specified/,
    });
    t.match(await herald("terms publish --version 1"), { code: 2, err: /required option '--file <FILE>'/ });
    t.match(await herald("terms"), { code: 2, err: /Usage: herald terms/ });
  });

  t.test("does not affect herald's own --version", async (t) => {
    for (const word of ["--version", "-V"])
      t.match(await herald([word]), { code: 0, out: /^\d+\.\d+\.\d+\n/ });
  });
});
