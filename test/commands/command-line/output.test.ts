import t from "tap";
import { createProgress } from "../../../src/commands/command-line/output.ts";

const fakeScreen = (isTTY: boolean) => {
  const written: string[] = [];
  return { written, screen: { isTTY, write: (text: string) => written.push(text) } };
};

t.test("the progress bar grows on a terminal and is removed at the end", async (t) => {
  const { written, screen } = fakeScreen(true);
  const bar = createProgress(screen, "secrets", 200);
  bar.advance(50);
  bar.advance(150);
  bar.end();
  t.match(written[0], /^\rsecrets ░{30} 0 % \(0 of 200\)$/);
  t.match(written[1], /^\rsecrets █{8}░{22} 25 % \(50 of 200\)$/);
  t.match(written[2], /^\rsecrets █{30} 100 % \(200 of 200\)$/);
  t.match(written[3], /^\r +\r$/);
});

t.test(
  "the progress bar is not drawn without a terminal, and is full when there is nothing to do",
  async (t) => {
    const { written, screen } = fakeScreen(false);
    const bar = createProgress(screen, "secrets", 2);
    bar.advance(2);
    bar.end();
    t.same(written, []);
    const idle = fakeScreen(true);
    createProgress(idle.screen, "secrets", 0).end();
    t.match(idle.written[0], /100 % \(0 of 0\)/);
  },
);

t.test("a bar that was removed for a line of text is drawn again", async (t) => {
  const { written, screen } = fakeScreen(true);
  const bar = createProgress(screen, "messages", 4);
  bar.advance(1);
  bar.end();
  bar.advance(0);
  t.equal(written[3], written[1]);
});

t.test("without a total the count is shown", async (t) => {
  const { written, screen } = fakeScreen(true);
  const bar = createProgress(screen, "rows");
  bar.advance(500);
  bar.end();
  t.same(written.slice(0, 2), ["\rrows 0", "\rrows 500"]);
  t.match(written[2], /^\r +\r$/);
});
