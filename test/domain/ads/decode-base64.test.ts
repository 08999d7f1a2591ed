import t from "tap";
import { decodeBase64 } from "../../../src/domain/ads/decode-base64.ts";

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
  ];
  for (const text of refused) t.equal(decodeBase64(text), undefined, JSON.stringify(text));
});
