import t from "tap";
import { nullable, object, oneOf, prefixedId, rule, Type, timestamp } from "../../src/schema/types.ts";
import { createValidator } from "../../src/schema/validate.ts";

const { json, strings } = createValidator();

const campaign = object(
  {
    name: Type.String({ minLength: 1 }),
    status: Type.Optional(oneOf(["ACTIVE", "PAUSED"])),
    daily_budget: Type.Optional(Type.Integer({ minimum: 0 })),
    lifetime_budget: Type.Optional(Type.Integer({ minimum: 0 })),
    end_time: Type.Optional(timestamp()),
    secret: Type.Optional(nullable(Type.String({ minLength: 3 }))),
    slug: Type.Optional(
      Type.String({ pattern: "^[a-z]+$", "x-message": "slug must have small letters only" }),
    ),
    places: Type.Optional(Type.Array(object({ channel: prefixedId("ch") }))),
  },
  {
    allOf: [
      rule("daily_budget", "daily_budget and lifetime_budget are mutually exclusive", {
        not: { required: ["daily_budget", "lifetime_budget"] },
      }),
      rule("end_time", "lifetime_budget needs end_time", {
        if: { required: ["lifetime_budget"] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ["end_time"] },
      }),
    ],
  },
);

const CASES: [string, unknown, { path: string; message: string }[]][] = [
  ["a missing field", {}, [{ path: "/name", message: "name is required" }]],
  ["an unknown field", { name: "x", "a/b": 1 }, [{ path: "/a~1b", message: "a/b is not a known field" }]],
  [
    "a word outside its set",
    { name: "x", status: "on" },
    [{ path: "/status", message: "status must be one of ACTIVE, PAUSED" }],
  ],
  [
    "a number of the wrong kind",
    { name: "x", daily_budget: 1.5 },
    [{ path: "/daily_budget", message: "daily_budget must be integer" }],
  ],
  [
    "a time that is none",
    { name: "x", end_time: "soon" },
    [{ path: "/end_time", message: "end_time must be a time such as 2026-11-01T09:30:00Z" }],
  ],
  ["null where null has a meaning", { name: "x", secret: null }, []],
  [
    "neither of two types",
    { name: "x", secret: 5 },
    [{ path: "/secret", message: "secret must be string or null" }],
  ],
  [
    "the right type, but too short",
    { name: "x", secret: "ab" },
    [{ path: "/secret", message: "secret must have at least 3 characters" }],
  ],
  [
    "two fields that exclude each other",
    { name: "x", daily_budget: 1, lifetime_budget: 1, end_time: "2026-11-01T00:00:00Z" },
    [{ path: "/daily_budget", message: "daily_budget and lifetime_budget are mutually exclusive" }],
  ],
  [
    "a field that needs another",
    { name: "x", lifetime_budget: 1 },
    [{ path: "/end_time", message: "lifetime_budget needs end_time" }],
  ],
  [
    "an id of another form",
    { name: "x", places: [{ channel: "ch_1" }] },
    [{ path: "/places/0/channel", message: "places.0.channel must look like ch_01jc8m4t7v2x5k9w3r6y1b0nqd" }],
  ],
  ["a text that must not be empty", { name: "" }, [{ path: "/name", message: "name must not be empty" }]],
  [
    "another type than the one whose form is described",
    { name: "x", slug: 5 },
    [{ path: "/slug", message: "slug must be string" }],
  ],
  [
    "a form that is described",
    { name: "x", slug: "A" },
    [{ path: "/slug", message: "slug must have small letters only" }],
  ],
  [
    "something deeper",
    { name: "x", places: [{}] },
    [{ path: "/places/0/channel", message: "places.0.channel is required" }],
  ],
];
for (const [name, value, expected] of CASES)
  t.test(`${name} is one sentence`, async (t) => {
    t.same(json(campaign)(value), expected);
  });

t.test("each item of a list is told what is wrong with it alone", async (t) => {
  const names = object({ names: Type.Array(nullable(Type.String({ minLength: 3 }))) });
  t.same(
    json(names)({ names: [5, "ab", null] }).map(({ message }) => message),
    ["names.0 must be string or null", "names.1 must have at least 3 characters"],
  );
});

t.test("a value that fits two forms of which it may have one is refused in words too", async (t) => {
  const either = Type.Unsafe<object>({ type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] });
  t.same(json(object({ either }))({ either: { a: 1, b: 1 } }), [
    { path: "/either", message: "either must fit exactly one of its forms" },
  ]);
});

t.test("a refusal that has a name of its own is told alone, whatever else may follow from it", async (t) => {
  const kind = oneOf(["call", "visit"], { "x-code": "unsupported_message_type" });
  const visit = object({ kind, at: timestamp() });
  t.match(json(visit)({ kind: "fax", fax: 1 }), [
    { path: "/kind", message: "kind must be one of call, visit", code: "unsupported_message_type" },
  ]);
  t.same(
    json(visit)({ kind: "call", fax: 1 }).map(({ code }) => code),
    [undefined, undefined],
  );
});

t.test("a text may be limited by its bytes", async (t) => {
  const note = object({ text: Type.Unsafe<string>({ type: "string", "x-max-bytes": 4 }) });
  t.same(json(note)({ text: "éé" }), []);
  t.same(json(note)({ text: "ééx" }), [
    { path: "/text", message: "text must have at most 4 bytes in UTF-8" },
  ]);
  t.same(json(note)({ text: 5 }), [{ path: "/text", message: "text must be string" }]);
});

t.test("the whole value has a name too", async (t) => {
  t.same(json(object({}))([]), [{ path: "", message: "the body must be object" }]);
});

t.test("several problems are all named", async (t) => {
  t.equal(json(campaign)({ status: "on", daily_budget: "5" }).length, 3);
});

t.test("a caller's name is cut to what a person would read", async (t) => {
  const [problem] = json(campaign)({ name: "x", ["y".repeat(3_000)]: 1 });
  t.match(problem?.message, /^y{100}… is not a known field$/);
});

t.test("of a large value only the first problem is told", async (t) => {
  t.equal(json(campaign)({ status: "on", daily_budget: "5" }, true).length, 1);
});

t.test("texts become numbers and booleans where the schema says so", async (t) => {
  const query: Record<string, unknown> = { limit: "-5", all: "true", name: "7" };
  const schema = object({ limit: Type.Integer(), all: Type.Boolean(), name: Type.String() });
  t.same(strings(schema, "the query")(query), []);
  t.same(query, { limit: -5, all: true, name: "7" });
});

for (const limit of ["", "five", "1.5", "1e3", "0x10", " 5", "Infinity", "9007199254740993", ["1", "2"]])
  t.test(`${JSON.stringify(limit)} is no integer`, async (t) => {
    t.match(strings(object({ limit: Type.Integer() }), "the query")({ limit }), [{ path: "/limit" }]);
  });

t.test("what a query leaves out has its default", async (t) => {
  const query: Record<string, unknown> = {};
  const limit = Type.Optional(Type.Integer({ default: 25 }));
  t.same(strings(object({ limit, other: Type.Optional(Type.String()) }), "the query")(query), []);
  t.same(query, { limit: 25 });
});
