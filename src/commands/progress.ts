/** How far a long verb has come. */
export interface Progress {
  advance(by: number): void;
  /** Takes the bar away, so that the result stands alone. */
  end(): void;
}

const BAR_WIDTH = 30;

interface Screen {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** A bar on a terminal; nothing where nobody watches. */
export function createProgress(screen: Screen, label: string, total: number): Progress {
  let done = 0;
  let lastLine = "";
  const draw = () => {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.round(share * BAR_WIDTH);
    const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
    const line = `${label} ${bar} ${Math.floor(share * 100)} % (${done} of ${total})`;
    if (screen.isTTY && line !== lastLine) screen.write(`\r${line}`);
    lastLine = line;
  };
  draw();
  return {
    advance(by) {
      done += by;
      draw();
    },
    end() {
      if (screen.isTTY) screen.write(`\r${" ".repeat(lastLine.length)}\r`);
    },
  };
}
