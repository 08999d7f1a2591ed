import t from "tap";
import { startHostileService } from "../fixtures/hostile/service.ts";
import { imageOfSize, MIB } from "../fixtures/images/images.ts";
import { issueAdToken } from "../fixtures/sandbox/ad-platform.ts";
import { startSandbox } from "../fixtures/sandbox/sandbox.ts";
import { grantAdAccount } from "../fixtures/tenants/ad-accounts.ts";
import { COFFEE_ACCOUNT_ID } from "../fixtures/tenants/ad-grants.ts";
import { makeTenant } from "../fixtures/tenants/tenants.ts";
import { FIRST_TERMS_VERSION } from "../fixtures/tenants/terms.ts";
import { until } from "../fixtures/until.ts";

const METRICS_TOKEN = "a-token-of-the-operator";
const CONCURRENT_UPLOADS = 6;
/** One run took 271 MiB. The bodies together have 59 MB. */
const MAX_RSS_BYTES = 500 * MIB;

t.test(
  "concurrent uploads of the largest images delay no other request and use bounded memory",
  async (t) => {
    const { origin } = await startSandbox(t);
    const service = await startHostileService(t, { SANDBOX_PORT: new URL(origin).port, METRICS_TOKEN });
    const tenant = await makeTenant(service);
    const [key, owner] = [await tenant.createKey("marketing:manage"), await tenant.createUser("owner")];
    const accept = { headers: owner.headers, json: { version: FIRST_TERMS_VERSION } };
    await service.call("POST", "/api/marketing/terms/accept", accept);
    const token = issueAdToken([COFFEE_ACCOUNT_ID]);
    const { adAccountId } = await grantAdAccount(service, tenant, { accountId: COFFEE_ACCOUNT_ID, token });
    const raw = Buffer.from(
      JSON.stringify({ ad_account_id: adAccountId, bytes_base64: imageOfSize(7 * MIB) }),
    );
    const upload = () => service.call("POST", "/api/marketing/images", { headers: key.headers, raw });

    const readRssBytes = async () => {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const { text } = await service.call("GET", "/metrics", { headers });
      return Number(/^process_resident_memory_bytes\{.*\} (\S+)$/m.exec(text)?.[1]);
    };
    let [maxRssBytes, isOver] = [0, false];
    const sampling = until("the uploads have ended", async () => {
      maxRssBytes = Math.max(maxRssBytes, await readRssBytes());
      return isOver;
    });
    const statuses = await service.underProbes(t, "uploads of 7 MiB", async () => {
      const replies = await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, upload));
      return replies.map(({ status }) => status);
    });
    isOver = true;
    await sampling;
    t.same(
      statuses.filter((status) => status !== 200 && status !== 503),
      [],
    );
    t.ok(statuses.includes(200));
    t.ok(maxRssBytes > 0 && maxRssBytes < MAX_RSS_BYTES, `web has ${Math.round(maxRssBytes / MIB)} MiB`);
  },
);
