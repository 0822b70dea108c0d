import type { ServeOptions } from './api.js';
import { asError, RpcError } from './errors.js';
import { ErrorCode } from './protocol.js';

/** Returns the result of a request of the server, or throws: an `RpcError` is sent unchanged. */
export type Handler = (params: any, options: ServeOptions) => unknown;

/** The functions that serve the requests of the server, by method. */
export type Handlers = Map<string, Handler>;

/** The maximum number of requests of the server that are handled concurrently. The server has at most 64 in flight. */
export const MAX_SERVED = 128;

/** The result or error of a response. */
export type Outcome = { result: unknown } | { error: { code: number; message: string; data?: unknown } };

/** Serves the requests of the server on one connection. */
export class Serving {
  readonly #handlers: Handlers;
  readonly #running = new Map<unknown, AbortController>();

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  /** Handles a request. `respond` is called once, unless the id is in flight. It must not throw. */
  async start(id: unknown, method: string, params: unknown, respond: (outcome: Outcome) => void): Promise<void> {
    const handler = this.#handlers.get(method);
    if (!handler) return respond(failure(ErrorCode.methodNotFound, 'this client does not serve the method'));
    if (this.#running.has(id)) return;
    if (this.#running.size >= MAX_SERVED) return respond(failure(ErrorCode.invalidRequest, 'too many requests in flight'));
    const abort = new AbortController();
    this.#running.set(id, abort);
    let outcome: Outcome;
    try {
      outcome = { result: (await handler(params, { signal: abort.signal })) ?? null };
    } catch (error) {
      if (error instanceof RpcError) outcome = failure(error.code, error.message, error.data);
      else if (abort.signal.aborted) outcome = failure(ErrorCode.cancelled, 'request cancelled');
      else outcome = failure(ErrorCode.internal, asError(error).message);
    }
    this.#running.delete(id);
    respond(outcome);
  }

  /** Aborts a request that the server no longer waits for. */
  cancel(id: unknown): void {
    this.#running.get(id)?.abort();
  }

  /** Aborts all requests: the connection has ended. */
  end(): void {
    for (const abort of this.#running.values()) abort.abort();
  }
}

export function failure(code: number, message: string, data?: unknown): Outcome {
  return { error: data === undefined ? { code, message } : { code, message, data } };
}
