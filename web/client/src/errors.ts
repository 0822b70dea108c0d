/** The server responded to a request with an error. */
export class RpcError extends Error {
  override name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** The connection was lost before the response: the request may or may not have taken effect. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
}

/** The server refuses this client, and retrying would not help. */
export class ConnectionRefused extends Error {
  override name = 'ConnectionRefused';

  constructor(
    message: string,
    /** The HTTP status of the refusal, if there is one. */
    readonly status?: number,
  ) {
    super(message);
  }
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
