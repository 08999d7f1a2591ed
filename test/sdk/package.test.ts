import { execFile, spawn } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { Herald } from "@herald/sdk";
import t, { type Test } from "tap";
import { denoProgram } from "../../src/local/cluster.ts";
import { freePort } from "../../src/local/server-process.ts";
import { packageRoot } from "../../src/runtime/package-root.ts";
import { codeBlocks } from "../fixtures/docs/code-blocks.ts";
import { type SandboxApi, startSandboxService } from "../fixtures/processes/local-cluster.ts";
import { makeTempFolder } from "../fixtures/servers/folders.ts";
import { until } from "../fixtures/until.ts";

const root = packageRoot();
const MAX_GZIPPED_BYTES = 20_480;

/** Runs a program to its end and returns its output. The sandbox goes on in this process meanwhile. */
async function run(folder: string, [program = "", ...args]: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd: folder })).stdout;
}

/** An empty project with the package of `npm pack`, installed without a network. */
async function createProject(t: Test): Promise<string> {
  const project = makeTempFolder(t);
  writeFileSync(join(project, "package.json"), '{ "name": "project", "private": true, "type": "module" }');
  await run(root, ["npm", "pack", "-w", "sdk", "--pack-destination", project]);
  const [packed = ""] = readdirSync(project).filter((name) => name.endsWith(".tgz"));
  await run(project, ["npm", "install", "--offline", "--no-audit", "--no-fund", `./${packed}`]);
  return project;
}

/** Compiles the files with `strict`, declarations of packages included. */
async function compile(project: string, files: readonly string[], compilerOptions: object): Promise<void> {
  const config = {
    compilerOptions: { strict: true, target: "es2022", module: "nodenext", ...compilerOptions },
    files,
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  await run(project, [process.execPath, join(root, "node_modules/typescript/bin/tsc")]);
}

const RUN_SMOKE = `import { argv } from "node:process";
import { smoke } from "./smoke.js";
console.log(JSON.stringify(await smoke(argv[2], argv[3])));
`;

/** Starts the bot that the README shows, and waits until it has registered its address. */
async function startBot(t: Test, project: string, { settings, apiKey }: SandboxApi): Promise<void> {
  const [bot] = codeBlocks(readFileSync(join(root, "README.md"), "utf8")).filter(
    ({ language }) => language === "js",
  );
  writeFileSync(join(project, "bot.js"), String(bot?.code));
  const baseUrl = `http://localhost:${settings.PORT}`;
  const { webhook_secret } = await new Herald({ baseUrl, apiKey }).webhooks.generateSecret();
  const env = {
    PUBLIC_URL: baseUrl,
    DEMO_API_KEY: apiKey,
    DEMO_WEBHOOK_SECRET: webhook_secret,
    BOT_PORT: String(await freePort()),
  };
  const child = spawn(process.execPath, ["bot.js"], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill());
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  await until("the bot is ready", () => output.includes("receives events at"));
}

t.test("the package is small and has no dependencies", async (t) => {
  const folder = join(root, "sdk/dist");
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  t.same(scripts.sort(), ["index.js", "webhooks.js"]);
  const sizes = scripts.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  t.ok(sizes.reduce((sum, size) => sum + size) <= MAX_GZIPPED_BYTES, `${sizes} bytes`);
  for (const name of scripts)
    t.notMatch(readFileSync(join(folder, name), "utf8"), /\bfrom ?"|import\(|require\(|process\./);
  const manifest = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8"));
  t.same(
    [manifest.dependencies, manifest.peerDependencies, manifest.sideEffects],
    [undefined, undefined, false],
  );
});

t.test(
  "the package works in an empty project, on Node and on Deno, and the README's bot with it",
  async (t) => {
    const project = await createProject(t);
    for (const name of ["correct.ts", "smoke.ts"])
      copyFileSync(join(root, "test/sdk/types", name), join(project, name));
    await compile(project, ["correct.ts", "smoke.ts"], { types: [] });
    const typeRoots = [join(root, "node_modules/@types")];
    await compile(project, ["smoke.ts"], {
      types: ["node"],
      typeRoots,
      lib: ["es2023"],
      skipLibCheck: false,
    });

    const cluster = await startSandboxService(t);
    writeFileSync(join(project, "run.js"), RUN_SMOKE);
    const deno = [
      denoProgram(root),
      "run",
      "--no-prompt",
      "--node-modules-dir=manual",
      "--allow-net=localhost",
    ];
    for (const runtime of [[process.execPath], deno]) {
      const found = await run(project, [
        ...runtime,
        "run.js",
        `http://localhost:${cluster.settings.PORT}`,
        cluster.apiKey,
      ]);
      t.match(JSON.parse(found), {
        isReached: true,
        isSame: true,
        isStreamed: true,
        isUploaded: true,
        isMissing: true,
        isInvalid: true,
        type: "webhook.test",
      });
    }

    await startBot(t, project, cluster);
    await cluster.sendInboundMessage("Echo this");
    await until("the echo reaches the platform", async () =>
      JSON.stringify(await cluster.requests()).includes("Echo this"),
    );
  },
);
