import autocannon from "autocannon";
import { acceptTerms } from "../../../src/domain/tenants/terms.ts";
import { imageOfSize, MIB } from "../../fixtures/images/images.ts";
import { grantAdAccount } from "../../fixtures/tenants/ad-accounts.ts";
import type { BenchCase, Contestant } from "../frame/case.ts";
import { makeClient } from "../frame/clients.ts";
import type { BenchContext } from "../frame/context.ts";
import { type ProcessIds, serverProcesses, startCpuCount } from "../frame/cpu.ts";
import { maxRssDuring } from "../frame/memory.ts";
import { startProgram, startWeb } from "../frame/processes.ts";
import { probeDuring } from "../load/probe.ts";

const CONNECTIONS = 8;
const [ROUND_UPLOADS, SMOKE_UPLOADS] = [80, 4];
const [IMAGE_BYTES, SMOKE_IMAGE_BYTES] = [7 * MIB, MIB];
/** The peer answers nothing while it decodes. */
const TIMEOUT_SECONDS = 60;
/** How often autocannon checks for its end: the small requests of an idle tail would be measured too. */
const END_CHECK_MS = 20;

interface UploadTarget {
  name: string;
  process: { pid: number; origin: string };
  processes: ProcessIds;
  headers: Record<string, string>;
  /** Paths of the small request and of the upload. */
  small: string;
  upload: string;
  body: string;
}

/** Uploads over all connections without pause. Herald may refuse an upload with 503; nothing else may happen. */
async function upload(target: UploadTarget, amount: number): Promise<number> {
  const { errors, timeouts, statusCodeStats } = await autocannon({
    url: target.process.origin + target.upload,
    method: "POST",
    headers: { "content-type": "application/json", ...target.headers },
    body: target.body,
    connections: Math.min(CONNECTIONS, amount),
    amount,
    timeout: TIMEOUT_SECONDS,
    sampleInt: END_CHECK_MS,
  });
  const counts = new Map(
    Object.entries(statusCodeStats ?? {}).map(([status, { count = 0 }]) => [status, count]),
  );
  const accepted = counts.get("200") ?? 0;
  if (accepted === 0 || accepted + (counts.get("503") ?? 0) < amount)
    throw new Error(
      `${target.name}: ${errors} errors, ${timeouts} timeouts, ${JSON.stringify(statusCodeStats)}`,
    );
  return accepted;
}

const uploadContestant = (context: BenchContext, target: UploadTarget): Contestant => ({
  name: target.name,
  async run() {
    const amount = context.count(ROUND_UPLOADS, SMOKE_UPLOADS);
    const { headers, process, small, processes } = target;
    const cpuPerItem = startCpuCount(processes);
    const probe = { url: process.origin + small, headers };
    const { result, p50, p99 } = await probeDuring(probe, () =>
      maxRssDuring(process.pid, () => upload(target, amount)),
    );
    return { values: { p50, p99, memory: result.maxMb }, cpu: cpuPerItem(result.value) };
  },
});

async function startContestants(context: BenchContext): Promise<Contestant[]> {
  const platform = await startProgram(context, "peers/upload-server", { MODE: "platform" });
  const settings = { AD_PLATFORM_URL: platform.origin };
  const client = await makeClient(context, ["marketing:manage"]);
  await acceptTerms(context.db, client.actor, { id: "usr_bench", name: "Bench", email: null, role: "owner" });
  const { adAccountId } = await grantAdAccount(context, client);
  const bytes = context.isSmokeTest ? SMOKE_IMAGE_BYTES : IMAGE_BYTES;
  const body = JSON.stringify({ ad_account_id: adAccountId, bytes_base64: imageOfSize(bytes) });
  const [web, peer, servers] = await Promise.all([
    startWeb(context, settings),
    startProgram(context, "peers/upload-server", { MODE: "express", ...settings }),
    serverProcesses(context),
  ]);
  return [
    uploadContestant(context, {
      name: "herald",
      process: web,
      processes: { web: web.pid, ...servers },
      headers: { "x-svc-api-key": client.key },
      small: "/api/auth/me",
      upload: "/api/marketing/images",
      body,
    }),
    uploadContestant(context, {
      name: "express",
      process: peer,
      processes: { peer: peer.pid },
      headers: {},
      small: "/me",
      upload: "/images",
      body,
    }),
  ];
}

/** A small GET while other callers upload images of 7 MiB: POST /api/marketing/images. */
export const IMAGES: BenchCase = {
  name: "images",
  variants: [
    {
      name: "7mb",
      isInSmokeTest: true,
      measures: [
        { value: "p99", unit: "ms", better: "lower", targets: { express: 3 } },
        { value: "memory", suffix: "memory", unit: "MB", better: "lower", peers: [], limit: 400 },
      ],
      start: startContestants,
    },
  ],
};
