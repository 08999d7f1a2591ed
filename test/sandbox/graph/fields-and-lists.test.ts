import t from "tap";
import { checkFields, project } from "../../../src/sandbox/graph/fields-and-lists.ts";

const NODE = {
  id: "1",
  name: "Ad",
  note: undefined,
  creative: { id: "2", name: "Picture", size: 3 },
  sets: { data: [{ id: "4", name: "Set" }], paging: {} },
  labels: [{ id: "5", name: "Label" }],
};

t.test("the named fields are selected, and the id is always included", (t) => {
  t.strictSame(project(NODE, ["name"], []), { name: "Ad", id: "1" });
  t.strictSame(project({ name: "No id" }, ["name"], []), { name: "No id" });
  t.end();
});

t.test("the default fields are selected without fields or with an empty list", (t) => {
  for (const fields of [undefined, [], [""]])
    t.strictSame(project(NODE, fields, ["name"]), { name: "Ad", id: "1" });
  t.end();
});

t.test("missing fields are omitted", (t) => {
  t.strictSame(project(NODE, ["note", "weight"], []), { id: "1" });
  t.end();
});

t.test("braces select inside an object, a list and an edge", (t) => {
  t.strictSame(project(NODE, ["creative{name}"], []).creative, { name: "Picture", id: "2" });
  t.strictSame(project(NODE, ["creative"], []).creative, NODE.creative);
  t.strictSame(project(NODE, ["sets{id}"], []).sets, { data: [{ id: "4" }], paging: {} });
  t.strictSame(project(NODE, ["labels{name}"], []).labels, [{ name: "Label", id: "5" }]);
  t.strictSame(project({ a: { b: { c: 1, d: 2 }, e: 3 } }, ["a{b{c}, e}"], []), {
    a: { b: { c: 1 }, e: 3 },
  });
  t.end();
});

t.test("an invalid field name is a syntax error", (t) => {
  for (const word of ["creative{name", "creative}", "na me", "{id}"])
    t.throws(() => project(NODE, [word], []), { code: 2500 }, word);
  t.end();
});

t.test("a field unknown to the node type is refused, and id is always accepted", (t) => {
  t.throws(() => checkFields(["name", "weight"], "Ad", ["name"]), {
    code: 100,
    message: "(#100) Tried accessing nonexisting field (weight) on node type (Ad)",
  });
  t.doesNotThrow(() => checkFields(["id", "name{x}", ""], "Ad", ["name"]));
  t.doesNotThrow(() => checkFields(undefined, "Ad", []));
  t.end();
});
