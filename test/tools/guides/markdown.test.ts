import t from "tap";
import { renderMarkdown } from "../../../tools/guides/markdown.ts";

const PATH = "/docs/guides/this.md";

const FILES = { "/docs/images/a.png": { href: "/docs/assets/a-12345678.png", width: 3, height: 2 } };
const TARGETS = {
  isPage: (path: string) => ["/docs/sandbox.md", "/docs/guides/other.md"].includes(path),
  fileAt: (path: string) => FILES[path as keyof typeof FILES],
};

const render = (text: string) => renderMarkdown({ path: PATH, text }, TARGETS);
const htmlOf = (text: string) => render(text).html.trim();

t.test("headings get the ids of Git hosts, and those below the title a link to themselves", async (t) => {
  const { html, headings } = render(
    "# The page\n\n## By `herald status` & more\n\n### message.send_result\n\n## Same\n\n### Same\n\n## Same-1",
  );
  t.same(headings, [
    { level: 1, id: "the-page", text: "The page" },
    { level: 2, id: "by-herald-status--more", text: "By herald status & more" },
    { level: 3, id: "messagesend_result", text: "message.send_result" },
    { level: 2, id: "same", text: "Same" },
    { level: 3, id: "same-1", text: "Same" },
    { level: 2, id: "same-1-1", text: "Same-1" },
  ]);
  t.match(html, '<h1 id="the-page">The page</h1>');
  t.match(
    html,
    '<h2 id="by-herald-status--more"><a href="#by-herald-status--more">By <code>herald status</code> &amp; more</a></h2>',
  );
});

t.test("a link leads to the page of a document, or to a file as an asset", async (t) => {
  const rows = [
    ["[a](other.md)", 'href="/docs/guides/other"'],
    ["[a](other.md#part)", 'href="/docs/guides/other#part"'],
    ["[a](../sandbox.md)", 'href="/docs/sandbox"'],
    ["[a](#part)", 'href="#part"'],
    ["[a](https://herald.example/?a=1&b=2)", 'href="https://herald.example/?a=1&amp;b=2"'],
    ["[a](../images/a.png)", 'href="/docs/assets/a-12345678.png" download="a.png"'],
  ] as const;
  for (const [markdown, attributes] of rows) t.equal(htmlOf(markdown), `<p><a ${attributes}>a</a></p>`);
});

t.test("an image has its size", async (t) => {
  t.equal(
    htmlOf('![A "picture"](../images/a.png)'),
    '<p><img src="/docs/assets/a-12345678.png" alt="A &quot;picture&quot;" width="3" height="2" loading="lazy"></p>',
  );
});

t.test("a link to a file that is not served is an error that names both", async (t) => {
  for (const target of [
    "unknown.md",
    "../unknown.png",
    "../../README.md",
    "/docs/sandbox.md",
    "http://herald.example",
    "javascript:alert(1)",
  ])
    t.throws(() => render(`[a](${target})`), {
      message: `${PATH}: the link ${target} leads to no file that is served`,
    });
});

t.test("a table is a region with a name of its own, and has no attributes that set a style", async (t) => {
  const table = "| a | |\n|:-:|--:|\n| `<b>` | c |\n";
  const html = htmlOf(`## Fields\n\n${table}\n${table}`);
  t.match(html, '<div class="table" role="region" aria-label="Table: Fields" tabindex="0"><table>');
  t.match(html, 'aria-label="Table: Fields, 1"');
  t.match(html, "<th>a</th>\n<td></td>", "an empty cell is no header");
  t.match(html, '<td data-column="a"><code>&lt;b&gt;</code></td>\n<td>c</td>', "each cell names its column");
  t.notMatch(html, /align|style/);
});

t.test("code is escaped and can be scrolled by keyboard", async (t) => {
  t.equal(
    htmlOf('```sh\ncurl "$A" <b> && c\n```'),
    '<div class="code"><pre tabindex="0"><code class="language-sh">curl &quot;$A&quot; &lt;b&gt; &amp;&amp; c</code></pre></div>',
  );
  t.equal(htmlOf('a < b & "c" \\<d>'), "<p>a &lt; b &amp; &quot;c&quot; &lt;d&gt;</p>");
});

t.test("comments are left out", async (t) => {
  t.equal(htmlOf("<!-- generated: x -->\n- a <!-- b --> c\n<!-- end -->"), "<ul>\n<li>a  c</li>\n</ul>");
});

t.test("raw HTML is an error that names the document", async (t) => {
  for (const markup of ["<div>", "a <b>c</b>", "<!-- a --><script>", "<!-- a"])
    t.throws(() => render(markup), { message: new RegExp(`^${PATH}: raw HTML is not rendered: <`) }, markup);
});

t.test("a row is found by the name in its first code cell", async (t) => {
  const table =
    "| status | error |\n|---|---|\n| 409 | `channel_taken` |\n| 410 | `a b`, `c` |\n| `e-1` | `f` |\n";
  const { html, namedRows } = render(`## Codes\n\n${table}\n${table}`);
  t.same(namedRows, [
    { id: "codes.channel_taken", text: "channel_taken" },
    { id: "codes.e-1", text: "e-1" },
    { id: "codes.channel_taken-1", text: "channel_taken" },
    { id: "codes.e-1-1", text: "e-1" },
  ]);
  for (const { id } of namedRows) t.match(html, `<tr id="${id}"><td data-column="status">`);
  t.match(html, '<tr><td data-column="status">410</td>', "no single name");
});
