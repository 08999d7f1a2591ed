import t from "tap";
import { route } from "../../src/http/route.ts";
import { object, Type } from "../../src/schema/types.ts";
import { startApi } from "../fixtures/http/api.ts";
import { recordWork } from "../fixtures/recorded-work.ts";
import { until } from "../fixtures/until.ts";

const { tracker, calls } = recordWork();

const thingRoute = (method: "post" | "get", handle: () => unknown) =>
  route({
    method,
    path: "/things/{thing_id}",
    scope: "public",
    summary: "Handle a thing",
    params: object({ thing_id: Type.String() }),
    ...(method === "post" ? { body: object({ name: Type.String() }) } : {}),
    reply: Type.Object({}),
    async handle() {
      calls.push("handle");
      return handle() as object;
    },
  });

const routes = () => [
  thingRoute("post", () => ({})),
  thingRoute("get", () => {
    throw new Error("a defect");
  }),
];

const api = await startApi(t, { routes, tracker });
const headers = { "x-request-id": "order-1042" };

t.beforeEach(() => {
  calls.length = 0;
});

t.test(
  "a request is tracked by its route pattern and resumed before its parsing, its handler and its reply",
  async (t) => {
    await api.call("POST", "/things/secret", { headers, json: { name: "secret" } });
    const label = "POST /things/{thing_id} order-1042";
    await until("the request has ended", () => calls.includes(`end ${label}`));
    const resumed = `resume ${label}`;
    t.same(calls, [`begin ${label}`, resumed, resumed, "handle", resumed, `end ${label}`]);
  },
);

t.test("a request that is refused or fails, or has no route, ends too", async (t) => {
  for (const [method, path, label] of [
    ["POST", "/things/1", "POST /things/{thing_id} order-1042"],
    ["GET", "/things/1", "GET /things/{thing_id} order-1042"],
    ["PUT", "/things/1", "PUT (none) order-1042"],
    ["GET", "/nothing?token=secret", "GET (none) order-1042"],
  ] as const) {
    calls.length = 0;
    const json = method === "POST" ? { wrong: true } : undefined;
    await fetch(api.address + path, { method, headers, ...(json ? { body: JSON.stringify(json) } : {}) });
    await until(`${method} ${path} has ended`, () => calls.at(-1) === `end ${label}`);
    t.equal(calls[0], `begin ${label}`);
    t.equal(calls.filter((call) => call.startsWith("end ")).length, 1);
  }
});
