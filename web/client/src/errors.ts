/** The server answered a request with an error. */
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

/** The connection was lost before the answer came: whether the request took effect is not known. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
}

/** The server refuses this client, and another try would not change that. */
export class ConnectionRefused extends Error {
  override name = 'ConnectionRefused';

  constructor(
    message: string,
    /** The HTTP status with which it refused, where it was that. */
    readonly status?: number,
  ) {
    super(message);
  }
}

/** The client was closed before the request was sent. */
export class ClientClosed extends Error {
  override name = 'ClientClosed';
}

/** A bound was reached; the message says which. */
export class TooMuchWaits extends Error {
  override name = 'TooMuchWaits';
}

/** Makes an error of whatever was thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What an aborted signal's owner wants to be told. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException('The operation was aborted.', 'AbortError');
}
