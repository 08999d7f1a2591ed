import { type BufferedRequest, createBufferedExchanges } from "./buffered-exchange.ts";
import type { Exchanges, HttpRequest } from "./exchange.ts";
import { createStreamedExchanges } from "./streamed-exchange.ts";

export function createExchanges(): Exchanges {
  const [buffered, streamed] = [createBufferedExchanges(), createStreamedExchanges()];
  return {
    run: (request) => (isBuffered(request) ? buffered.run(request) : streamed.run(request)),
    open: streamed.open,
    close() {
      buffered.close();
      streamed.close();
    },
  };
}

const isBuffered = (request: HttpRequest): request is BufferedRequest =>
  typeof request.body !== "object" && request.uploadTimeoutMs === undefined;
