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
    start_day: Type.Optional(Type.String({ format: "date", maxLength: 10 })),
    labels: Type.Optional(Type.Array(Type.Unknown(), { uniqueItems: true })),
  },
  {
    "x-fixed": ["objective"],
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
    "a value outside its enum",
    { name: "x", status: "on" },
    [{ path: "/status", message: "status must be one of ACTIVE, PAUSED" }],
  ],
  [
    "a number of the wrong kind",
    { name: "x", daily_budget: 1.5 },
    [{ path: "/daily_budget", message: "daily_budget must be an integer" }],
  ],
  [
    "an integer beyond 2^53",
    { name: 9007199254740993n, daily_budget: 9007199254740993n },
    [
      { path: "/name", message: "name must be a string" },
      { path: "/daily_budget", message: "daily_budget is too large" },
    ],
  ],
  [
    "an integer beyond -2^53",
    { name: "x", daily_budget: -9007199254740993n },
    [{ path: "/daily_budget", message: "daily_budget is too small" }],
  ],
  [
    "an integer beyond 2^53 in a field of another type",
    { name: "x", secret: 9007199254740993n, places: 9007199254740993n },
    [
      { path: "/secret", message: "secret must be a string or null" },
      { path: "/places", message: "places must be a list" },
    ],
  ],
  [
    "an invalid time",
    { name: "x", end_time: "soon" },
    [{ path: "/end_time", message: "end_time must be an RFC 3339 time such as 2026-11-01T09:30:00Z" }],
  ],
  ...["soon", "2026-11-01T09:30:00Z", "2026-13-01"].map((start_day): (typeof CASES)[number] => [
    `the date ${start_day}`,
    { name: "x", start_day },
    [{ path: "/start_day", message: "start_day must be a date such as 2026-11-01 (YYYY-MM-DD)" }],
  ]),
  [
    "a field that only a creation has",
    { name: "x", objective: "SALES" },
    [{ path: "/objective", message: "objective cannot be changed after creation" }],
  ],
  [
    "a repeated text in a list",
    { name: "x", labels: ["a", "b", "a"] },
    [{ path: "/labels", message: "labels must not contain a more than once" }],
  ],
  [
    "a repeated object in a list",
    { name: "x", labels: [{ a: 1 }, { a: 1 }] },
    [{ path: "/labels", message: "labels must not contain the same value more than once" }],
  ],
  ...(
    [
      ["nmae", "name"],
      ["stauts", "status"],
      ["dailyBudget", "daily_budget"],
      ["life-time-budgets", "lifetime_budget"],
      ["End_Tim", "end_time"],
    ] as const
  ).map(([given, meant]): (typeof CASES)[number] => [
    `the misspelt field ${given}`,
    { name: "x", [given]: 1 },
    [{ path: `/${given}`, message: `${given} is not a known field: did you mean \`${meant}\`?` }],
  ]),
  ...["", "x", "sl", "budget", "constructor"].map((given): (typeof CASES)[number] => [
    `the unknown field "${given}"`,
    { name: "x", [given]: 1 },
    [{ path: `/${given}`, message: `${given} is not a known field` }],
  ]),
  ["null in a nullable field", { name: "x", secret: null }, []],
  [
    "a value of neither allowed type",
    { name: "x", secret: 5 },
    [{ path: "/secret", message: "secret must be a string or null" }],
  ],
  [
    "a text that is too short",
    { name: "x", secret: "ab" },
    [{ path: "/secret", message: "secret must have at least 3 characters" }],
  ],
  [
    "a pair of mutually exclusive fields",
    { name: "x", daily_budget: 1, lifetime_budget: 1, end_time: "2026-11-01T00:00:00Z" },
    [{ path: "/daily_budget", message: "daily_budget and lifetime_budget are mutually exclusive" }],
  ],
  [
    "a field without the field it requires",
    { name: "x", lifetime_budget: 1 },
    [{ path: "/end_time", message: "lifetime_budget needs end_time" }],
  ],
  [
    "an id with another pattern",
    { name: "x", places: [{ channel: "ch_1" }] },
    [{ path: "/places/0/channel", message: "places.0.channel must look like ch_01jc8m4t7v2x5k9w3r6y1b0nqd" }],
  ],
  ["an empty text", { name: "" }, [{ path: "/name", message: "name must not be empty" }]],
  [
    "a wrong type in a field with a custom message",
    { name: "x", slug: 5 },
    [{ path: "/slug", message: "slug must be a string" }],
  ],
  [
    "a wrong pattern in a field with a custom message",
    { name: "x", slug: "A" },
    [{ path: "/slug", message: "slug must have small letters only" }],
  ],
  [
    "a missing field of a nested object",
    { name: "x", places: [{}] },
    [{ path: "/places/0/channel", message: "places.0.channel is required" }],
  ],
];
for (const [name, value, expected] of CASES)
  t.test(`the problems of ${name} are reported as expected`, async (t) => {
    t.same(json(campaign)(value), expected);
  });

t.test("each item of a list gets only its own problems", async (t) => {
  const names = object({ names: Type.Array(nullable(Type.String({ minLength: 3 }))) });
  t.same(
    json(names)({ names: [5, "ab", null] }).map(({ message }) => message),
    ["names.0 must be a string or null", "names.1 must have at least 3 characters"],
  );
});

t.test("an integer beyond 2^53 is too large for a nullable number", async (t) => {
  const check = json(object({ limit: nullable(Type.Number({ maximum: 100 })), any: Type.Unknown() }));
  const any = { list: [9007199254740993n] };
  t.same(check({ limit: 9007199254740993n, any }), [{ path: "/limit", message: "limit is too large" }]);
  t.same(check({ limit: null, any }), [], "a field of any type takes it");
});

t.test("a value that matches two forms of a oneOf is rejected with a sentence", async (t) => {
  const either = Type.Unsafe<object>({ type: "object", oneOf: [{ required: ["a"] }, { required: ["b"] }] });
  t.same(json(object({ either }))({ either: { a: 1, b: 1 } }), [
    { path: "/either", message: "either must match exactly one of the allowed forms" },
  ]);
});

t.test("a problem with its own error code hides the problems without one", async (t) => {
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

t.test("a text can be limited by its length in bytes", async (t) => {
  const note = object({ text: Type.Unsafe<string>({ type: "string", "x-max-bytes": 4 }) });
  t.same(json(note)({ text: "éé" }), []);
  t.same(json(note)({ text: "ééx" }), [
    { path: "/text", message: "text must have at most 4 bytes in UTF-8" },
  ]);
  t.same(json(note)({ text: 5 }), [{ path: "/text", message: "text must be a string" }]);
});

t.test("a problem of the whole value names the body", async (t) => {
  t.same(json(object({}))([]), [{ path: "", message: "the body must be an object" }]);
});

t.test("all problems of a value are reported", async (t) => {
  t.equal(json(campaign)({ status: "on", daily_budget: "5" }).length, 3);
});

t.test("a long field name from the caller is truncated", async (t) => {
  const [problem] = json(campaign)({ name: "x", ["y".repeat(3_000)]: 1 });
  t.match(problem?.message, /^y{100}… is not a known field$/);
});

t.test("only the first problem of a large value is reported", async (t) => {
  t.equal(json(campaign)({ status: "on", daily_budget: "5" }, true).length, 1);
});

t.test("query strings are converted to the numbers and booleans of the schema", async (t) => {
  const query: Record<string, unknown> = { limit: "-5", all: "true", name: "7" };
  const schema = object({ limit: Type.Integer(), all: Type.Boolean(), name: Type.String() });
  t.same(strings(schema, "the query")(query), []);
  t.same(query, { limit: -5, all: true, name: "7" });
});

for (const limit of ["", "five", "1.5", "1e3", "0x10", " 5", "Infinity", "9007199254740993", ["1", "2"]])
  t.test(`${JSON.stringify(limit)} is not an integer`, async (t) => {
    t.match(strings(object({ limit: Type.Integer() }), "the query")({ limit }), [{ path: "/limit" }]);
  });

t.test("a missing query parameter gets its default", async (t) => {
  const query: Record<string, unknown> = {};
  const limit = Type.Optional(Type.Integer({ default: 25 }));
  t.same(strings(object({ limit, other: Type.Optional(Type.String()) }), "the query")(query), []);
  t.same(query, { limit: 25 });
});
