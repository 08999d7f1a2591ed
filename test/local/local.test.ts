import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Test } from "tap";
import t from "tap";
import { CHROMIUM, ensurePrograms, findProgram, MissingPrograms } from "../../src/local/programs.ts";
import { freePort } from "../../src/local/server-process.ts";
import {
  localSettings,
  privateServersSetting,
  readEnvFile,
  withoutPrivateServers,
  writeEnvFile,
} from "../../src/local/settings.ts";
import { readConfig } from "../../src/runtime/config/config.ts";

const program = (folders: string[]) => ({ name: "tool", folders, apt: "tool", brew: "tool" });

t.test("a program is searched on PATH first, then in its usual folders, highest version first", async (t) => {
  const root = t.testdir();
  const make = (folder: string, mode = 0o755) => {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "tool"), "");
    chmodSync(join(root, folder, "tool"), mode);
  };
  for (const folder of ["lib/9/bin", "lib/15/bin", "own"]) make(folder);
  make("closed", 0o644);
  const tool = program([join(root, "lib/*/bin")]);
  t.equal(findProgram(tool, `${join(root, "closed")}:${join(root, "own")}`), join(root, "own/tool"));
  t.equal(findProgram(tool, join(root, "nothing")), join(root, "lib/15/bin/tool"));
  t.equal(findProgram(program([join(root, "none/*/bin")]), ""), undefined);
});

t.test(
  "a program with several names is found by any of them, in the first folder that has one",
  async (t) => {
    const root = t.testdir({ near: { "Other Tool": "" }, far: { tool: "" } });
    for (const file of ["near/Other Tool", "far/tool"]) chmodSync(join(root, file), 0o755);
    const tool = { ...program([join(root, "far")]), aliases: ["tool-browser", "Other Tool"] };
    t.equal(findProgram(tool, join(root, "near")), join(root, "near/Other Tool"));
    t.equal(findProgram(tool, ""), join(root, "far/tool"));
    t.equal(findProgram(program([]), join(root, "near")), undefined);
  },
);

t.test("a browser is found by its names on different systems", async (t) => {
  for (const name of ["chromium", "chromium-browser", "google-chrome-stable", "Google Chrome"]) {
    const root = t.testdir({ [name]: "" });
    chmodSync(join(root, name), 0o755);
    t.equal(findProgram({ ...CHROMIUM, folders: [] }, root), join(root, name));
  }
});

t.test("a missing program", async (t) => {
  /** Prepends a folder to PATH with the given script as apt-get, and a sudo that runs its arguments. */
  function withAptGet(t: Test, script: string): string {
    const root = t.testdir({
      "apt-get": `#!/bin/sh\n${script}\n`,
      sudo: '#!/bin/sh\nshift\nexec "$@"\n',
      lib: {},
    });
    for (const name of ["apt-get", "sudo"]) chmodSync(join(root, name), 0o755);
    const before = process.env.PATH;
    process.env.PATH = `${root}:/usr/bin:/bin`;
    t.teardown(() => {
      process.env.PATH = before;
    });
    return root;
  }

  t.test("is installed once, after an update of the package lists", async (t) => {
    const script =
      'cd "$(dirname "$0")"; echo "$@" >> calls; case "$*" in *install*) cp sudo lib/tool;; esac';
    const root = withAptGet(t, script);
    const tool = program([join(root, "lib")]);
    const lines: string[] = [];
    const ensureTool = () => ensurePrograms([tool], "", (line) => lines.push(line)).get(tool);
    t.equal(ensureTool(), join(root, "lib/tool"));
    t.equal(ensureTool(), join(root, "lib/tool"));
    const calls = ["update", "install -y --no-install-recommends tool"].map(
      (call) => `-qq -o DPkg::Lock::Timeout=120 ${call}`,
    );
    t.same(readFileSync(join(root, "calls"), "utf8").trim().split("\n"), calls);
    t.same(lines, ["Installing tool with apt-get (only once) ..."]);
  });

  t.test("that cannot be installed throws one error with the install command", async (t) => {
    withAptGet(t, "exit 100");
    const install = () => ensurePrograms([program([])], "", () => {});
    t.throws(install, MissingPrograms);
    t.throws(install, /tool not found.*\n\n {4}sudo apt-get update && sudo apt-get install -y tool\n/);
  });
});

t.test("settings are stored in a file that only its owner can read", async (t) => {
  const file = join(t.testdir(), "env");
  writeFileSync(file, "", { mode: 0o644 });
  writeEnvFile(file, { A: "1", KEYS: "k1:x=y=" });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.same(readEnvFile(file), { A: "1", KEYS: "k1:x=y=" });
  t.same(readEnvFile(join(t.testdirName, "none")), {});
});

t.test("settings that a person wrote without quotes, or with other quotes, are read", async (t) => {
  const file = join(
    t.testdir({
      env: `# a comment
A=plain
B="double quoted"
C='it'\\''s'
export D=postgres://u:p@h/d?sslmode=require
  E='indented'
F=trailing  \r
G=
H2='with # and = inside'
not a setting
lower=case
`,
    }),
    "env",
  );
  t.same(readEnvFile(file), {
    A: "plain",
    B: "double quoted",
    C: "it's",
    D: "postgres://u:p@h/d?sslmode=require",
    E: "indented",
    F: "trailing",
    G: "",
    H2: "with # and = inside",
  });
});

t.test(
  "the local settings are valid, keep the values of the last start, and yield to the environment",
  async (t) => {
    const servers = { DATABASE_URL: "postgres://h/d", REDIS_URL: "redis://h" };
    const first = await localSettings({}, {}, servers);
    t.equal(readConfig(first).HOST, "127.0.0.1");
    const second = await localSettings({ JWT_SECRET: "x".repeat(32), PORT: "9999" }, first, servers);
    t.equal(second.ENCRYPTION_KEYS, first.ENCRYPTION_KEYS);
    t.equal(second.JWT_SECRET, "x".repeat(32));
    t.equal(second.PUBLIC_URL, "http://localhost:9999");
  },
);

t.test(
  "the platform URLs point to the sandbox on the port of the last start, unless the environment sets them",
  async (t) => {
    const servers = { DATABASE_URL: "postgres://h/d", REDIS_URL: "redis://h" };
    const port = String(await freePort());
    const own = { AD_PLATFORM_URL: "https://graph.example/v26.0", PLATFORM_APP_SECRET: "own secret" };
    const made = await localSettings(own, { SANDBOX_PORT: port }, servers);
    t.match(made, { ...own, SANDBOX_PORT: port, PLATFORM_APP_ID: "1900000000000001" });
    t.match(made, { PLATFORM_VERIFY_TOKEN: "sandbox-verify-token", SIGNUP_CONFIG_ID: "1900000000000002" });
    for (const name of ["CHAT_PLATFORM_URL", "PHOTO_PLATFORM_URL", "SOCIAL_PLATFORM_URL"])
      t.equal(made[name], `http://localhost:${port}/v26.0`, name);
    t.equal(made.AD_DIALOG_URL, `http://localhost:${port}/dialog/oauth`);
    t.equal(made.SIGNUP_DIALOG_URL, `http://localhost:${port}/dialog/signup`);
    t.not(made.SANDBOX_MEDIA_PORT, port);
    t.equal(made.PLATFORM_MEDIA_HOSTS, `localhost:${made.SANDBOX_MEDIA_PORT}`);
    t.same(readConfig(made).PLATFORM_MEDIA_HOSTS, [`localhost:${made.SANDBOX_MEDIA_PORT}`]);
    const CHAT_PLATFORM_URL = "https://graph.example/v26.0";
    t.same(readConfig(await localSettings({ CHAT_PLATFORM_URL }, {}, servers)).PLATFORM_MEDIA_HOSTS, [
      "graph.example",
      "lookaside.fbsbx.com",
    ]);
    const PLATFORM_MEDIA_HOSTS = "media.example";
    t.match(await localSettings({ PLATFORM_MEDIA_HOSTS }, {}, servers), { PLATFORM_MEDIA_HOSTS });

    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(Number(port), "127.0.0.1", resolve));
    t.teardown(() => taken.close());
    const moved = await localSettings({}, { SANDBOX_PORT: port }, servers);
    t.not(moved.SANDBOX_PORT, port);
    t.equal(moved.AD_PLATFORM_URL, `http://localhost:${moved.SANDBOX_PORT}/v26.0`);
    await t.rejects(
      localSettings({ SANDBOX_PORT: port }, {}, servers),
      /port \d+ is in use: set SANDBOX_PORT to another port, or leave it unset/,
    );
  },
);

t.test("the URLs of private servers of an earlier start are removed from the environment", async (t) => {
  const kept = { PORT: "9090", DATABASE_URL: "postgres://a", REDIS_URL: "redis://b" };
  const remaining = (servers: string, env: Record<string, string>) =>
    withoutPrivateServers(env, { ...kept, PRIVATE_SERVERS: servers });
  t.same(remaining("DATABASE_URL,REDIS_URL", kept), { PORT: "9090" });
  t.same(remaining("REDIS_URL", kept), { PORT: "9090", DATABASE_URL: "postgres://a" });
  t.same(remaining("DATABASE_URL", { DATABASE_URL: "postgres://c" }), { DATABASE_URL: "postgres://c" });
  t.same(withoutPrivateServers(kept, {}), kept);
  const { PRIVATE_SERVERS = "" } = privateServersSetting({
    REDIS_URL: "redis://mine",
    AD_PLATFORM_URL: "https://theirs",
  });
  t.same(PRIVATE_SERVERS.split(","), [
    "DATABASE_URL",
    "PLATFORM_MEDIA_HOSTS",
    "AD_DIALOG_URL",
    "CHAT_PLATFORM_URL",
    "PHOTO_PLATFORM_URL",
    "SOCIAL_PLATFORM_URL",
    "SIGNUP_DIALOG_URL",
  ]);
});

t.test("a preferred port is used when it is free, and a taken port is reported", async (t) => {
  const server = createServer();
  const port = await freePort();
  t.equal(await freePort(port), port);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  t.not(await freePort(port), port);
  await t.test("a port taken on ::1 is not free either", async (t) => {
    const ipv6Server = createServer();
    const taken = await freePort();
    const hasIPv6 = await new Promise<boolean>((resolve) => {
      ipv6Server.once("error", () => resolve(false)).listen(taken, "::1", () => resolve(true));
    });
    t.teardown(() => ipv6Server.close());
    t.equal(await freePort(taken).then((chosen) => chosen === taken), !hasIPv6);
  });
  const servers = { DATABASE_URL: "postgres://a", REDIS_URL: "redis://b" };
  await t.rejects(
    localSettings({ PORT: String(port) }, {}, servers),
    /port \d+ is in use: set PORT to another port, or leave it unset/,
  );
});
