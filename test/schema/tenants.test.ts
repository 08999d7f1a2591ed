import t from "tap";
import { entityName } from "../../src/schema/tenants.ts";
import { object } from "../../src/schema/types.ts";
import { createValidator } from "../../src/schema/validate.ts";

const check = createValidator().json(object({ name: entityName("A name") }));

const VALID = ["a", " a ", "\u00a0\ufeff\u2028a", "a\u2029\u3000", "\u200b", "é\u{1f600} ß", "x".repeat(200)];
const INVALID = ["", " ", "\u00a0\ufeff\u2028\u3000", "\ta", "a\n", "a\u0085", "a\u007fb", "x".repeat(201)];

t.test("a name has a visible character and no control character", async (t) => {
  for (const name of VALID) t.same(check({ name }), [], JSON.stringify(name));
  for (const name of INVALID)
    t.same(
      check({ name }),
      [
        {
          path: "/name",
          message: "name must have 1 to 200 characters, at least one visible and no control characters",
        },
      ],
      JSON.stringify(name),
    );
});
