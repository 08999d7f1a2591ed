import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readRecipientFile } from "../../../src/commands/batches/recipient-file.ts";
import { makeTempFolder } from "../../fixtures/servers/folders.ts";

function write(t: Test, content: string | Buffer): string {
  const file = join(makeTempFolder(t), "people.csv");
  writeFileSync(file, content);
  return file;
}

const read = (t: Test, content: string | Buffer) => readRecipientFile(write(t, content));

const body = (...texts: string[]) => [
  { type: "body", parameters: texts.map((text) => ({ type: "text", text })) },
];

t.test("columns beside to and external_ref are the variables, in their order", async (t) => {
  const { rows, invalid } = await read(t, "name,to,external_ref,code\nAna,5511988887777,order-1,X1\n");
  t.same(invalid, []);
  const entry = { to: "5511988887777", external_ref: "order-1", components: body("Ana", "X1") };
  t.same(rows, [{ line: 2, entry }]);
  const plain = await read(t, "to\n5511988887777");
  t.same(plain.rows, [{ line: 2, entry: { to: "5511988887777" } }], "a template without variables");
  const scoped = await read(t, "to,external_ref\nUS.13491208655302741918,\n");
  t.same(scoped.rows[0]?.entry, { to: "US.13491208655302741918" }, "an empty reference is none");
});

t.test("variables can be numbered or named in the header", async (t) => {
  const numbered = await read(t, "body.2,to,body.1\nsecond,5511988887777,first\n");
  t.same(numbered.rows[0]?.entry.components, body("first", "second"));
  const named = await read(t, "to,body.first_name,body.code\n5511988887777,Ana,X1\n");
  const parameters = [
    { type: "text", parameter_name: "first_name", text: "Ana" },
    { type: "text", parameter_name: "code", text: "X1" },
  ];
  t.same(named.rows[0]?.entry.components, [{ type: "body", parameters }]);
});

t.test("fields may have quotes, commas and line breaks; each row has the line where it begins", async (t) => {
  const content = [
    '\ufeffto,"the ""name"""\r\n',
    '5511988880001,"Ana ""A"", Souza"\r\n',
    '5511988880002,"one\r\ntwo\nthree"\r\n',
    "\r\n,\r\n",
    "5511988880003,José\n",
    "5511988880004,last",
  ];
  const { rows, invalid } = await read(t, content.join(""));
  t.same(invalid, []);
  t.same(
    rows.map(({ line, entry }) => [line, entry.to, entry.components]),
    [
      [2, "5511988880001", body('Ana "A", Souza')],
      [3, "5511988880002", body("one\r\ntwo\nthree")],
      [8, "5511988880003", body("José")],
      [9, "5511988880004", body("last")],
    ],
  );
});

t.test("rows that cannot be sent are listed with their lines", async (t) => {
  const content = [
    "to,name",
    ",Ana",
    "+5511988887777,Ana",
    "5511 98888,Ana",
    "5511988887777",
    "5511988887777,Ana,more",
    "5511988887777,",
    "5511988887777,Ana",
  ];
  const { rows, invalid } = await read(t, content.join("\n"));
  t.same(
    rows.map(({ line }) => line),
    [8],
  );
  t.match(invalid, [
    { line: 2, message: "to is empty" },
    { line: 3, message: /digits only: no \+/ },
    { line: 4, message: /digits only/ },
    { line: 5, message: "it has 1 columns instead of 2" },
    { line: 6, message: "it has 3 columns instead of 2" },
    { line: 7, message: "name is empty" },
  ]);
});

t.test("a file that cannot be read as a whole is refused", async (t) => {
  const wrong: [string | Buffer, RegExp][] = [
    ["", /is empty: its first line must name the columns/],
    ["phone,name\n5511988887777,Ana", /line 1: there is no column to, but phone \| name/],
    ["to;name\n5511988887777;Ana", /there is no column to, but to;name; .* commas/],
    ["to,to\n1,2", /there are two columns to/],
    ["to,name,\n1,2,3", /column 3 has no name/],
    ["to,body.1,name\n1,2,3", /either all variables are columns body\.1/],
    ["to,body.1,body.3\n1,2,3", /either all variables are columns body\.1/],
    ["to,body.1,body.name\n1,2,3", /either all variables are columns body\.1/],
    ['to,name\n5511988887777,"Ana\n', /is not a CSV file: Quote Not Closed/],
    [Buffer.from("to,name\n5511988887777,Jos\xe9", "latin1"), /is not UTF-8 text/],
  ];
  for (const [content, message] of wrong) await t.rejects(read(t, content), { message });
  await t.rejects(readRecipientFile("/no/such/file.csv"), { message: /cannot be read: ENOENT/ });
  await t.rejects(readRecipientFile(makeTempFolder(t)), { message: /cannot be read: EISDIR/ });
});
