import type { ServeOptions } from './api.js';
import { asError, RpcError } from './errors.js';
import { ErrorCode } from './protocol.js';

/** Returns the result of a request of the server, or throws: an `RpcError` is sent unchanged. */
export type Handler = (params: any, options: ServeOptions) => unknown;

/** The functions that serve the requests of the server, by method. */
export type Handlers = Map<string, Handler>;

/** The maximum number of requests of the server that are handled concurrently. The server has at most 64 in flight. */
export const MAX_SERVED = 128;

/** The message of the error for a method that no handler serves. */
export const NOT_SERVED = 'this client does not serve the method';

/** The result or error of a response. */
export type Outcome = { result: unknown } | { error: { code: number; message: string; data?: unknown } };

/** A request whose handler has not ended. */
interface Running {
  abort: AbortController;
  respond: (outcome: Outcome) => void;
}

/** Serves the requests of the server on one connection. */
export class Serving {
  readonly #handlers: Handlers;
  readonly #running = new Map<unknown, Running>();
  #hasEnded = false;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  /**
   * Handles a request. `respond` is called once, unless the id is in flight or the connection ends. It must not throw. The
   * outcome of a handler that ends after the cancellation of its request is dropped.
   */
  async start(id: unknown, method: string, params: unknown, respond: (outcome: Outcome) => void): Promise<void> {
    if (this.#hasEnded) return;
    const handler = this.#handlers.get(method);
    if (!handler) return respond(failure(ErrorCode.methodNotFound, NOT_SERVED));
    if (this.#running.has(id)) return;
    if (this.#running.size >= MAX_SERVED) return respond(failure(ErrorCode.invalidRequest, 'too many requests in flight'));
    const abort = new AbortController();
    this.#running.set(id, { abort, respond });
    const outcome = await outcomeOf(handler, params, abort.signal);
    this.#running.delete(id);
    if (!abort.signal.aborted) respond(outcome);
  }

  /** Aborts a request that the server no longer waits for, and responds that it was cancelled. */
  cancel(id: unknown): void {
    const running = this.#running.get(id);
    if (!running || running.abort.signal.aborted) return;
    running.abort.abort();
    running.respond(failure(ErrorCode.cancelled, 'request cancelled'));
  }

  /** Aborts all requests, and serves no further ones: the connection ends. */
  end(): void {
    this.#hasEnded = true;
    for (const { abort } of this.#running.values()) abort.abort();
  }
}

async function outcomeOf(handler: Handler, params: unknown, signal: AbortSignal): Promise<Outcome> {
  try {
    return { result: (await handler(params, { signal })) ?? null };
  } catch (error) {
    if (error instanceof RpcError) return failure(error.code, error.message, error.data);
    return failure(ErrorCode.internal, asError(error).message);
  }
}

export function failure(code: number, message: string, data?: unknown): Outcome {
  return { error: data === undefined ? { code, message } : { code, message, data } };
}
