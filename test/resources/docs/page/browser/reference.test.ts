import t from "tap";
import { resolveSubtree } from "../../../../../src/resources/docs/page/browser/reference.ts";

const DOCUMENT = {
  paths: {
    "/a": {
      get: { responses: [{ $ref: "#/components/a~1b" }, { $ref: "#/components/tree", title: "own" }] },
    },
  },
  components: {
    "a/b": { description: "found", items: [{ $ref: "#/components/leaf" }] },
    leaf: { type: "string" },
    tree: { title: "tree", children: { $ref: "#/components/tree" } },
  },
};

t.test(
  "references are replaced by their targets, and fields beside a reference take precedence",
  async (t) => {
    const { spec, errors } = await resolveSubtree(DOCUMENT, ["paths", "/a", "get"]);
    t.same(errors, []);
    t.same(spec, {
      responses: [
        { description: "found", items: [{ type: "string" }] },
        { title: "own", children: { $ref: "#/components/tree" } },
      ],
    });
  },
);

t.test("a part that does not exist is undefined", async (t) => {
  t.equal((await resolveSubtree(DOCUMENT, ["components", "securitySchemes", "none"])).spec, undefined);
});
