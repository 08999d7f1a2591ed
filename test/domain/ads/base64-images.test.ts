import t from "tap";
import { decodeBase64 } from "../../../src/domain/ads/base64-images.ts";

t.test("strict base64 is decoded", async (t) => {
  for (const text of ["", "a", "ab", "abc", "abcd", "\u00ff\u00fe\u00fd~?>"]) {
    const bytes = Buffer.from(text, "latin1");
    t.same(decodeBase64(bytes.toString("base64")), bytes, text);
  }
});

t.test("any other text is refused", async (t) => {
  const refused = [
    "data:image/png;base64,QUJD",
    " QUJD",
    "QUJD\n",
    "QU JD",
    "QUJ$",
    "QUJ-",
    "QUJ_",
    "QUJDé",
    "QUJD=",
    "QUJDR",
    "QUI",
    "QQ",
    "QQ=",
    "QQ===",
    "Q===",
    "=QUJ",
    "QQ==QQ==",
    "QR==", // has bits that no byte uses
    "====",
    "QU=JQUJD",
    "QU JQUJD",
    "éUJDQUJD",
    "\u0141UJDQUJD", // its low byte is that of A
    "-UJDQUJD",
    "_UJDQUJD",
  ];
  for (const text of refused) t.equal(decodeBase64(text), undefined, JSON.stringify(text));
});

t.test("random texts are decoded if and only if they are strict base64", async (t) => {
  const alphabet = [..."AZaz09+/=-_ \n\u0141"];
  const pick = () => alphabet[Math.floor(Math.random() * alphabet.length)];
  const wrong = [];
  for (let count = 0; count < 20_000; count++) {
    const text = Array.from({ length: Math.floor(Math.random() * 10) }, pick).join("");
    const isStrict = Buffer.from(text, "base64").toString("base64") === text;
    if ((decodeBase64(text) !== undefined) !== isStrict) wrong.push(text);
  }
  t.same(wrong, []);
});
