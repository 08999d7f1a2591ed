import {
  addressOf,
  CLUSTER_SLOTS,
  type ExaminedCluster,
  type ExaminedPrimary,
  type ExaminedSentinel,
  type ExaminedSentinels,
  type ExaminedServer,
  examineCluster,
  examineSentinels,
  examineServer,
} from "../../queue/examine-redis.ts";
import type { RedisSettings } from "../../queue/redis.ts";
import { isWriteRefusal } from "../../queue/redis-state.ts";
import { rootCauseMessage } from "../../runtime/errors.ts";
import { ANSWER_TIMEOUT_MS, type Finding, failed, ok, warning } from "./checks.ts";

/** Checks the server, every primary of the cluster, or the sentinels and the primary that they name. */
export async function examineRedis(
  settings: RedisSettings,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<Finding[]> {
  const { cluster, sentinel } = settings.REDIS_URL;
  if (cluster) return clusterFindings(await examineCluster(settings, timeoutMs));
  if (sentinel)
    return sentinelFindings(await examineSentinels(settings, sentinel, timeoutMs), sentinel.primary);
  const server = await examineServer(settings, timeoutMs);
  return isUsable(server)
    ? [ok("redis", `${server.address} answers and accepts writes`)]
    : [serverFailure(server, FIXES.server)];
}

const isUsable = ({ error }: ExaminedServer): boolean => error === undefined;

/** What to do about a server that cannot be used, and about one that refuses writes. */
interface Fixes {
  unusable: string;
  refusing: string;
}

const ACCEPT_WRITES = "raise maxmemory, repair its snapshots or replicas, or allow this user to write";
const CORRECT_URL = "correct REDIS_URL (host, password, rediss:// and REDIS_TLS_VERIFY)";

const FIXES = {
  server: {
    unusable: `start the server, or ${CORRECT_URL}`,
    refusing: `use the primary in REDIS_URL, ${ACCEPT_WRITES}`,
  },
  clusterPrimary: {
    unusable:
      "start it, or let this machine reach the address that the cluster announces, with the user and password of REDIS_URL",
    refusing: ACCEPT_WRITES,
  },
  namedPrimary: {
    unusable:
      "start it, or let this machine reach the address that the sentinels name, with the user and password of REDIS_URL",
    refusing: `wait until a failover has ended, ${ACCEPT_WRITES}`,
  },
} as const satisfies Record<string, Fixes>;

const serverFailure = ({ address, error }: ExaminedServer, { unusable, refusing }: Fixes): Finding =>
  isWriteRefusal(error)
    ? failed("redis", `${address} refuses writes: ${rootCauseMessage(error)}`, refusing)
    : failed("redis", `${address} cannot be used: ${rootCauseMessage(error)}`, unusable);

const namesOf = (servers: readonly ExaminedServer[]): string =>
  servers.map(({ address }) => address).join(", ");

const reasonsOf = (servers: readonly ExaminedServer[]): string =>
  servers.map(({ address, error }) => `${address} (${rootCauseMessage(error)})`).join(", ");

/** True for a primary that refuses commands because other slots have no primary. */
const isDown = ({ error }: ExaminedServer): boolean =>
  error instanceof Error && error.message.startsWith("CLUSTERDOWN ");

const requireFullCoverage = (primaries: readonly ExaminedPrimary[]): boolean =>
  primaries.some(({ requiresFullCoverage }) => requiresFullCoverage);

const KEEP_OTHERS = "set cluster-require-full-coverage to no: the other primaries then stay in use";

function clusterFindings({ nodes, primaries }: ExaminedCluster): Finding[] {
  if (!nodes.some(isUsable)) {
    const message = `no node of REDIS_URL can be used: ${reasonsOf(nodes)}`;
    return [failed("redis", message, `start the cluster, or ${CORRECT_URL}`)];
  }
  const broken = primaries.filter((primary) => !isUsable(primary) && !isDown(primary));
  const problems = [
    ...broken.map((primary) => serverFailure(primary, FIXES.clusterPrimary)),
    ...examineSlots(primaries),
    ...examineReplicas(primaries.filter((primary) => !broken.includes(primary))),
  ];
  return problems.length > 0 ? problems : [okCluster(primaries)];
}

/** Full coverage is Redis's default and harmless until a primary fails, so that it is no warning. */
function okCluster(primaries: readonly ExaminedPrimary[]): Finding {
  if (primaries.length === 1)
    return ok("redis", `1 primary answers and accepts writes: ${namesOf(primaries)}`);
  const hint = requireFullCoverage(primaries)
    ? "; while one of them is down, all refuse (cluster-require-full-coverage is yes)"
    : "";
  return ok("redis", `${primaries.length} primaries answer and accept writes: ${namesOf(primaries)}${hint}`);
}

const countSlots = (primaries: readonly ExaminedPrimary[]): number =>
  primaries.reduce((sum, { slots }) => sum + slots, 0);

/** Finds slots that no primary has, and primaries that refuse because slots have none. */
function examineSlots(primaries: readonly ExaminedPrimary[]): Finding[] {
  const down = primaries.filter(isDown);
  if (down.length === 0 && countSlots(primaries) === CLUSTER_SLOTS) return [];
  const answering = primaries.filter(
    (primary) => isUsable(primary) || isDown(primary) || isWriteRefusal(primary.error),
  );
  const missing = CLUSTER_SLOTS - countSlots(answering);
  const parts = [
    ...(missing > 0 ? [`${missing} of ${CLUSTER_SLOTS} slots have no primary that answers`] : []),
    ...(down.length > 0 ? [`${reasonsOf(down)} refuse commands`] : []),
  ];
  const fix =
    missing > 0
      ? "start their primary, or assign them with redis-cli --cluster fix"
      : "wait until the nodes agree again, or repair the connections between them";
  const hint = requireFullCoverage(down) ? `; ${KEEP_OTHERS}` : "";
  return [failed("redis", parts.join("; "), fix + hint)];
}

function examineReplicas(primaries: readonly ExaminedPrimary[]): Finding[] {
  const alone = primaries.filter(({ replicas }) => replicas === 0);
  if (alone.length === 0) return [];
  const reach = requireFullCoverage(primaries)
    ? "the whole cluster refuses (cluster-require-full-coverage is yes)"
    : "its slots have no successor";
  const hint = requireFullCoverage(primaries) ? `, or ${KEEP_OTHERS}` : "";
  return [
    warning(
      "redis",
      `no replica of ${namesOf(alone)}: when such a primary fails, ${reach}, and Herald is slower until it is back`,
      `add a replica to each${hint}`,
    ),
  ];
}

function sentinelFindings({ sentinels, primary }: ExaminedSentinels, name: string): Finding[] {
  const answering = sentinels.filter(isUsable);
  if (answering.length === 0) {
    const fix = "start them, or correct REDIS_URL (hosts, ports, sentinel_username, sentinel_password)";
    return [failed("redis", `no sentinel can be used: ${reasonsOf(sentinels)}`, fix)];
  }
  if (!primary) {
    const message = `${namesOf(answering)} answer and know no primary "${name}"`;
    const fix = "correct ?sentinel= in REDIS_URL: the command SENTINEL MASTERS lists the names";
    return [failed("redis", message, fix), ...examineEachSentinel(sentinels, name)];
  }
  const problems = [
    ...(isUsable(primary) ? [] : [serverFailure(primary, FIXES.namedPrimary)]),
    ...examineEachSentinel(sentinels, name),
    ...examineAgreement(answering),
  ];
  if (problems.length > 0) return problems;
  const count = `${answering.length} of ${sentinels.length} sentinels answer and name it as "${name}"`;
  return [ok("redis", `${primary.address} answers and accepts writes; ${count}`)];
}

/** Finds the sentinels that cannot tell the primary while others can. */
function examineEachSentinel(sentinels: readonly ExaminedSentinel[], name: string): Finding[] {
  const silent = sentinels.filter((sentinel) => !isUsable(sentinel));
  const areAllUnaware = sentinels.every(({ named }) => !named);
  const unaware = areAllUnaware ? [] : sentinels.filter(({ named }) => named === null);
  return [
    ...silent.map(({ address, error }) =>
      warning(
        "redis",
        `the sentinel ${address} cannot be used: ${rootCauseMessage(error)}`,
        "start it, or correct its address in REDIS_URL",
      ),
    ),
    ...unaware.map(({ address }) =>
      warning(
        "redis",
        `the sentinel ${address} knows no primary "${name}", which others know`,
        `let it monitor "${name}" like the others, or take it out of REDIS_URL`,
      ),
    ),
  ];
}

/** Finds sentinels that name different servers: clients may then use a former primary. */
function examineAgreement(sentinels: readonly ExaminedSentinel[]): Finding[] {
  const naming = sentinels.flatMap(({ address, named }) =>
    named ? [{ address, primary: addressOf(named) }] : [],
  );
  if (new Set(naming.map(({ primary }) => primary)).size <= 1) return [];
  const opinions = naming.map(({ address, primary }) => `${address} names ${primary}`).join(", ");
  return [
    warning(
      "redis",
      `the sentinels name different primaries: ${opinions}`,
      "wait until a failover has ended; SENTINEL RESET repairs one that still names a former primary",
    ),
  ];
}
