/** An answer other than a success. */
export class ApiProblem extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

export const isStatus = (problem: unknown, ...statuses: readonly number[]): boolean =>
  problem instanceof ApiProblem && statuses.includes(problem.status);

const READ_TIMEOUT_MS = 15_000;
/** The server may wait for several calls to the platform before it answers. */
const WRITE_TIMEOUT_MS = 90_000;

export const get = (url: string): Promise<Response> => send(url, { method: "GET" }, READ_TIMEOUT_MS);

export const postJson = (url: string, json: object): Promise<Response> =>
  send(url, { method: "POST", body: JSON.stringify(json) }, WRITE_TIMEOUT_MS);

/** Sends no cookies. Throws an ApiProblem for an error status. */
async function send(url: string, init: RequestInit, timeoutMs: number): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      headers: { accept: "application/json", "content-type": "application/json" },
      credentials: "omit",
      cache: "no-store",
      signal: timeout.signal,
    });
    if (!response.ok) throw new ApiProblem(response.status);
    return response;
  } finally {
    clearTimeout(timer);
  }
}
