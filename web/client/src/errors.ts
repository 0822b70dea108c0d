import type { RpcErrorObject } from './protocol.js';

type Thrown<Response> = Response extends RpcErrorObject ? Error & { readonly name: 'RpcError' } & Readonly<Response> : never;

/** The server responded to a request with an error; its `code` tells the type of its `data`. */
export type RpcError = Thrown<RpcErrorObject>;

interface RpcErrorConstructor {
  /** A handler can throw an error with any code and data. */
  new (code: number, message: string, data?: unknown): RpcError;
  readonly prototype: RpcError;
}

export const RpcError = class RpcError extends Error {
  override name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
} as unknown as RpcErrorConstructor;

/** The connection was lost before the response: the request may or may not have taken effect. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';

  constructor(
    message: string,
    /** The code with which the connection was closed: 1001 by a server that was stopped, 1006 without a close frame. */
    readonly code?: number,
  ) {
    super(message);
  }
}

/**
 * Why a connection was refused. A browser does not tell a page of another origin more than `origin_or_token`.
 *
 * - `token`: the token, or the secret of a page, is missing, wrong or no longer valid
 * - `origin`: the origin of the page, or the host name of the address, is not in the server's configuration
 * - `address`: there is no address, or it is not that of a Strata server
 * - `protocol`: the server does not support this version of the protocol
 */
export type RefusalReason = 'token' | 'origin' | 'origin_or_token' | 'address' | 'protocol';

/** The server refuses this client, and retrying would not help. */
export class ConnectionRefused extends Error {
  override name = 'ConnectionRefused';

  constructor(
    message: string,
    readonly reason: RefusalReason,
    /** The HTTP status of the refusal, if it is known. */
    readonly status?: number,
  ) {
    super(message);
  }
}

/** No server accepts connections at the address, or it refuses them for the moment. The client tries again. */
export class ServerUnreachable extends Error {
  override name = 'ServerUnreachable';
}

/** The client was closed before the request was sent. */
export class ClientClosed extends Error {
  override name = 'ClientClosed';
}

/** A limit of this client was exceeded; the message says which. */
export class LimitExceeded extends Error {
  override name = 'LimitExceeded';
}

/** Converts a thrown value to an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the reason of an aborted signal. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException('The operation was aborted.', 'AbortError');
}
