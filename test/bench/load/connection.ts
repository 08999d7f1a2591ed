import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Requests to one server, built before the measurement. */
export interface Target {
  origin: string;
  /** The status of every answer; any other fails the run. */
  status: number;
}

/** Builds a complete POST request. */
export function buildRequest(path: string, headers: Record<string, string>, body: string | Buffer): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join("")}content-length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

interface Pending {
  resolve(): void;
  reject(error: Error): void;
}

export interface Connection {
  /** Sends one request; resolves when its answer is complete. One request at a time. */
  send(request: Buffer): Promise<void>;
  close(): void;
}

/**
 * An HTTP client that does no more than the measurement needs: it takes about a quarter of the processor time of autocannon or
 * undici, which on a small machine would be taken from the server that is measured.
 */
export async function openConnection({ origin, status }: Target): Promise<Connection> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let pending: Pending | undefined;
  const fail = (error: Error) => pending?.reject(error);
  readAnswers(socket, (answer) => {
    if (answer.startsWith(`HTTP/1.1 ${status} `)) pending?.resolve();
    else fail(new Error(`${origin} answered ${answer.slice(0, 500)}`));
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error(`${origin} closed the connection`)));
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        pending = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

const HEAD_END = "\r\n\r\n";

/** Calls `onAnswer` for each complete answer. All contestants send a Content-Length. */
function readAnswers(socket: Socket, onAnswer: (text: string) => void): void {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    const headEnd = text.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, headEnd + 2))?.[1];
    if (length === undefined) return void socket.destroy(new Error(`an answer without length: ${text}`));
    if (text.length < headEnd + HEAD_END.length + Number(length)) return;
    const answer = text;
    text = "";
    onAnswer(answer);
  });
}
