import t from "tap";
import { ConfigError, readConfig } from "../../../src/runtime/config/config.ts";
import { unconnectedSettings } from "../../fixtures/processes/settings.ts";

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const redisOf = (REDIS_URL: string) => readConfig({ ...unconnectedSettings(), REDIS_URL }).REDIS_URL;

const production = () => ({
  ...unconnectedSettings(),
  NODE_ENV: "production",
  PUBLIC_URL: "https://herald.example",
  AD_PLATFORM_URL: "https://ads.example/v26.0",
  AD_DIALOG_URL: "https://ads.example/dialog/oauth",
  CHAT_PLATFORM_URL: "https://chat.example/v26.0",
  PHOTO_PLATFORM_URL: "https://photo.example/v26.0",
  SOCIAL_PLATFORM_URL: "https://social.example/v26.0",
  SIGNUP_DIALOG_URL: "https://ads.example/dialog/signup",
  SIGNUP_CONFIG_ID: "1",
  PLATFORM_APP_ID: "2",
  PLATFORM_APP_SECRET: "3",
  PLATFORM_VERIFY_TOKEN: "4",
});

t.test("an unset setting has its documented default", async (t) => {
  const config = readConfig(unconnectedSettings());
  t.match(config, {
    NODE_ENV: "development",
    PORT: 8080,
    HOST: "0.0.0.0",
    PUBLIC_URL: "http://localhost:8080",
    DATABASE_POOL: 10,
    DATABASE_PREPARED: true,
    RATE_LIMIT_PER_MINUTE: 12_000,
    AD_PLATFORM_URL: "http://localhost:8090/v26.0",
    PLATFORM_MEDIA_HOSTS: ["localhost:8090", "lookaside.fbsbx.com"],
    OAUTH_REDIRECT_URI: "http://localhost:8080/console/oauth",
    PRIVATE_DESTINATIONS: [],
    EVENT_RETENTION_DAYS: 30,
  });
  t.equal(config.METRICS_TOKEN, undefined);
  t.equal(config.DATABASE_DIRECT_URL, config.DATABASE_URL);
  t.ok(config.IMAGE_THREADS >= 1);
  t.ok(Object.isFrozen(config));
});

t.test("a default derived from another setting follows that setting", async (t) => {
  const config = readConfig({ ...unconnectedSettings(), PORT: "9000", SANDBOX_PORT: "9090" });
  t.equal(config.PUBLIC_URL, "http://localhost:9000");
  t.equal(config.OAUTH_REDIRECT_URI, "http://localhost:9000/console/oauth");
  t.equal(config.CHAT_PLATFORM_URL, "http://localhost:9090/v26.0");
  t.same(config.PLATFORM_MEDIA_HOSTS, ["localhost:9090", "lookaside.fbsbx.com"]);
  t.equal(config.SANDBOX_MEDIA_PORT, 9091);
  const { SANDBOX_MEDIA_PORT } = readConfig({ ...unconnectedSettings(), SANDBOX_PORT: "65535" });
  t.equal(SANDBOX_MEDIA_PORT, 65534, "no port is above 65535");
});

t.test("a URL is stored without its trailing slash, and so are URLs derived from it", async (t) => {
  const config = readConfig({ ...unconnectedSettings(), PUBLIC_URL: "https://h.example/" });
  t.equal(config.PUBLIC_URL, "https://h.example");
  t.equal(config.OAUTH_REDIRECT_URI, "https://h.example/console/oauth");
});

t.test("a cron expression may contain lists, ranges, steps and names", async (t) => {
  const CRON_TOKENS = "0,30 */5 22-6/2 1-15 jan,JUL mon-fri";
  t.equal(readConfig({ ...unconnectedSettings(), CRON_TOKENS }).CRON_TOKENS, CRON_TOKENS);
});

t.test("an empty variable counts as unset", async (t) => {
  t.equal(readConfig({ ...unconnectedSettings(), PORT: "", METRICS_TOKEN: "" }).PORT, 8080);
});

t.test("one error names all invalid settings and contains none of their values", async (t) => {
  const wrong = {
    DATABASE_URL: "mysql://u:hunter2@h/d",
    ENCRYPTION_KEYS: "k1:hunter2",
    PORT: "x",
    LOG_LEVEL: "loud",
  };
  const problems = problemsOf({ ...wrong, JWT_SECRET: "hunter2" });
  const names = ["DATABASE_URL", "ENCRYPTION_KEYS", "PORT", "LOG_LEVEL", "JWT_SECRET", "REDIS_URL"];
  for (const name of names)
    t.ok(
      problems.some((problem) => problem.startsWith(`${name} `)),
      `${name} is named`,
    );
  t.equal(problems.length, names.length);
  t.notMatch(problems.join("\n"), /hunter2/);
});

const WRONG: [string, string][] = [
  ["NODE_ENV", "staging"],
  ["PORT", "65536"],
  ["PORT", "-1"],
  ["WEB_CONCURRENCY", "0"],
  ["PUBLIC_URL", "localhost"],
  ["PUBLIC_URL", "http://h/?q=1"],
  ["PUBLIC_URL", "http://h/?"],
  ["PUBLIC_URL", "http://:secret@h/"],
  ["DATABASE_URL", "postgres://h/d?sslmode=maybe"],
  ["DATABASE_PREPARED", "yes"],
  ["REDIS_URL", "redis://a,http://b"],
  ["REDIS_URL", "redis://a,rediss://b"],
  ["REDIS_URL", "rediss://a,redis://b/?sentinel=herald"],
  ["REDIS_URL", "a:26379,b:26379/?sentinel=herald"],
  ["REDIS_URL", "redis://,b/?sentinel=herald"],
  ["REDIS_URL", "redis://a,:26379/?sentinel=herald"],
  ["REDIS_URL", "redis:///?sentinel=herald"],
  ["REDIS_URL", "redis://a,b/?sentinel="],
  ["REDIS_URL", "redis://a,b/?sentinel"],
  ["REDIS_URL", "redis://a,b/?cluster=true&sentinel=herald"],
  ["REDIS_URL", "redis://a?cluster=true,redis://b?sentinel=herald"],
  ["REDIS_URL", "redis://a,b/db?sentinel=herald"],
  ["REDIS_URL", "redis://a/db"],
  ["REDIS_URL", "redis://:100%@a"],
  ["ENCRYPTION_KEYS", `k1:${Buffer.alloc(31).toString("base64")}`],
  ["ENCRYPTION_KEYS", `k1:${Buffer.alloc(32).toString("base64")},k1:${Buffer.alloc(32).toString("base64")}`],
  ["JWT_SECRET", "short"],
  ["PRIVATE_DESTINATIONS", "10.0.0.0/33"],
  ["PRIVATE_DESTINATIONS", "localhost/8"],
  ["PLATFORM_MEDIA_HOSTS", "http://cdn.example/"],
  ["CRON_TOKENS", "every day"],
  ["CRON_TOKENS", "* * * * *"],
  ["CRON_TOKENS", "60 * * * * *"],
  ["CRON_TOKENS", "*/0 * * * * *"],
  ["CRON_TOKENS", "0 0 0 0 * *"],
  ["CRON_TOKENS", "0 1/5 * * * *"],
  ["CRON_TOKENS", "0 0 0 31 2 *"],
  ["CRON_TOKENS", "0 1-99999999 * * * *"],
  ["CRON_TOKENS", "@hourly"],
  ["CRON_TOKENS", "0 3  * * *"],
  ["CRON_TOKENS", "0 0 0 L-30 2 *"],
  ["CRON_TOKENS", "0 0 0 31W 2 *"],
  ["CRON_TOKENS", "0 0 0 30 * 1#1"],
  ["CRON_TOKENS", "a b c d e f"],
  ["METRICS_TOKEN", "short"],
];
for (const [name, value] of WRONG)
  t.test(`${name}=${value} is rejected`, async (t) => {
    const problems = problemsOf({ ...unconnectedSettings(), [name]: value });
    t.equal(problems.length, 1);
    t.match(problems[0], new RegExp(`^${name} must be `));
  });

t.test("user tokens need a secret, or all three settings of an identity provider", async (t) => {
  const { JWT_SECRET, ...rest } = unconnectedSettings();
  t.match(problemsOf(rest), [/^JWT_SECRET is required, or JWT_JWKS_URL/]);
  const provider = { JWT_JWKS_URL: "https://id.example/keys", JWT_ISSUER: "https://id.example" };
  t.match(problemsOf({ ...rest, ...provider }), [/^JWT_AUDIENCE must be set together/]);
  t.same(problemsOf({ ...rest, ...provider, JWT_AUDIENCE: "herald" }), []);
});

t.test("several Redis nodes or ?cluster=true mean a Redis Cluster", async (t) => {
  t.same(redisOf("redis://a:1"), { nodes: ["redis://a:1"], cluster: false });
  t.same(redisOf("redis://a:1/5"), { nodes: ["redis://a:1/5"], cluster: false });
  t.same(redisOf("rediss://a:1, rediss://b:2"), { nodes: ["rediss://a:1", "rediss://b:2"], cluster: true });
  t.same(redisOf("rediss://:p@a:1,b:2"), { nodes: ["rediss://:p@a:1", "rediss://b:2"], cluster: true });
  t.same(redisOf("redis://a:1?cluster=true"), { nodes: ["redis://a:1"], cluster: true });
  t.same(redisOf("redis://a:1?cluster=true&family=6"), { nodes: ["redis://a:1?family=6"], cluster: true });
});

t.test("?sentinel=NAME means the primary that sentinels name", async (t) => {
  const sentinel = { primary: "herald" };
  t.same(redisOf("redis://a:1/?sentinel=herald"), { nodes: ["redis://a:1/"], cluster: false, sentinel });
  t.same(
    redisOf("rediss://user:p%40ss@a, [::1], b:3/2?sentinel=herald"),
    {
      nodes: ["rediss://user:p%40ss@a:26379/2", "rediss://[::1]:26379/", "rediss://b:3/"],
      cluster: false,
      sentinel,
    },
    "the port is 26379 unless it is given",
  );
  t.same(
    redisOf("redis://:p@a:1/2?sentinel=herald,redis://:p@b:2?sentinel=herald"),
    { nodes: ["redis://:p@a:1/2", "redis://:p@b:2/"], cluster: false, sentinel },
    "a list of URLs",
  );
  t.same(
    redisOf("redis://a:1?sentinel=herald,redis://b:2"),
    { nodes: ["redis://a:1/", "redis://b:2/"], cluster: false, sentinel },
    "the first of a list of URLs has the parameter",
  );
});

t.test("sentinels have a user and password of their own", async (t) => {
  const sentinelOf = (params: string) => redisOf(`redis://u:p@a,b/?sentinel=herald&${params}`).sentinel;
  t.same(sentinelOf("sentinel_password=a%26b"), { primary: "herald", password: "a&b" });
  t.same(sentinelOf("sentinel_password=a+b/c=="), { primary: "herald", password: "a+b/c==" });
  t.same(sentinelOf("sentinel_username=u2&sentinel_password=p2"), {
    primary: "herald",
    username: "u2",
    password: "p2",
  });
  t.same(sentinelOf("sentinel_username=&sentinel_password="), { primary: "herald" });
});

t.test("a complete set of settings is valid in production", async (t) => {
  t.same(problemsOf(production()), []);
});

t.test("production requires every platform setting instead of using the sandbox", async (t) => {
  const problems = problemsOf({
    ...unconnectedSettings(),
    NODE_ENV: "production",
    PUBLIC_URL: "https://h.example",
  });
  const required = Object.keys(production()).filter((name) => /PLATFORM|DIALOG|SIGNUP/.test(name));
  t.same(
    problems.map((problem) => problem.split(" ")[0]),
    required,
  );
});

t.test("production refuses the sandbox's app secret and verify token, which are public", async (t) => {
  const sandbox = readConfig(unconnectedSettings());
  for (const name of ["PLATFORM_APP_SECRET", "PLATFORM_VERIFY_TOKEN"] as const)
    t.same(problemsOf({ ...production(), [name]: sandbox[name] }), [
      `${name} must not be the sandbox's value in production`,
    ]);
  const { PLATFORM_APP_SECRET, PLATFORM_VERIFY_TOKEN } = sandbox;
  const own = { PLATFORM_APP_SECRET, PLATFORM_VERIFY_TOKEN };
  t.same(problemsOf({ ...unconnectedSettings(), ...own }), [], "the local cluster sets them");
});

t.test("production requires https URLs", async (t) => {
  for (const name of ["PUBLIC_URL", "AD_PLATFORM_URL", "SIGNUP_DIALOG_URL", "CHAT_PLATFORM_URL"])
    t.same(problemsOf({ ...production(), [name]: "http://h.example" }), [
      `${name} must start with https:// in production`,
    ]);
  const { PUBLIC_URL, ...rest } = production();
  t.same(problemsOf(rest), ["PUBLIC_URL must start with https:// in production"]);
});
