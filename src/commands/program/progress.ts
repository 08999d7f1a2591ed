/** The progress bar of a long command. */
export interface Progress {
  advance(by: number): void;
  /** Removes the bar, so that only the result remains. */
  end(): void;
}

const BAR_WIDTH = 30;

interface Screen {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Draws only on a terminal; without a total it draws a count. */
export function createProgress(screen: Screen, label: string, total?: number): Progress {
  let done = 0;
  let lastLine = "";
  const draw = () => {
    const line = `${label} ${total === undefined ? done : drawBar(done, total)}`;
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

function drawBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
  return `${bar} ${Math.floor(share * 100)} % (${done} of ${total})`;
}
