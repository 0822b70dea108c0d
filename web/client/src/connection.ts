import type { ConnectOptions, Endpoint, Socket } from './api.js';
import { asError, ConnectionLost, ConnectionRefused, LimitExceeded, RpcError, ServerUnreachable } from './errors.js';
import { capabilitiesOf } from './handlers.js';
import { frameBytes, requestFrame, tooLarge } from './limits.js';
import { ErrorCode, type InitializeResult } from './protocol.js';
import { failure, Serving, type Handlers, type Outcome } from './serving.js';
import { openSocket } from './socket.js';
import { VERSION } from './version.js';

/** Handles a response, or the reason why there is none. It is called in the order of the frames, and must not throw. */
export type Settle = (error: Error | null, result?: any) => void;

/** Handles a notification; `size` is the length of its frame in characters. */
export type Notified = (method: string, params: any, size: number) => void;

/** The maximum time for a server to accept a connection and respond to `initialize`, in milliseconds. */
export const HANDSHAKE_TIMEOUT = 20_000;

/** The maximum time to wait for the server's close frame, in milliseconds. */
const CLOSE_TIMEOUT = 2_000;

const PROTOCOL_VERSION = 1;

/** The close code after a frame above the receiver's limit. */
const TOO_BIG = 1009;

/** A connection: JSON-RPC over an open socket. */
export class Connection {
  /** Resolves when the connection has ended, with the reason. */
  readonly ended: Promise<Error>;
  agent!: InitializeResult;

  readonly #socket: Socket;
  readonly #notified: Notified;
  readonly #problem: (problem: Error) => void;
  readonly #serving: Serving;
  readonly #pending = new Map<number, { settle: Settle; method: string; size: number }>();
  #nextId = 1;
  #lost: Error | null = null;
  #end!: (reason: Error) => void;

  constructor(socket: Socket, handlers: Handlers, notified: Notified, problem: (problem: Error) => void) {
    this.#socket = socket;
    this.#notified = notified;
    this.#problem = problem;
    this.#serving = new Serving(handlers);
    this.ended = new Promise((resolve) => (this.#end = resolve));
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onerror = () => {}; // onclose follows
    socket.onclose = (event) => {
      if (event?.code === TOO_BIG) this.#failLargest();
      const code = closeCode(event);
      this.#close(new ConnectionLost(closeReason(code, event), code));
    };
  }

  get alive(): boolean {
    return this.#lost === null;
  }

  /** The number of requests without a response. */
  get inFlight(): number {
    return this.#pending.size;
  }

  /** Sends a request, unless its frame is too large, and returns its id. `body` are the parameters as JSON. */
  request(method: string, body: string | undefined, settle: Settle): number {
    const id = this.#nextId++;
    const frame = requestFrame(id, method, body);
    const refused = this.#lost ?? tooLarge(method, frame, frameBytes(this.agent));
    if (refused) {
      settle(refused);
      return id;
    }
    this.#pending.set(id, { settle, method, size: frame.length });
    this.#send(frame);
    return id;
  }

  notify(method: string, params: unknown): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  /** Ends the connection and resolves when it has ended. */
  async close(code: number, reason: string): Promise<void> {
    this.#serving.end(); // a socket that is closing sends nothing
    try {
      this.#socket.close(code, reason);
    } catch (error) {
      this.#close(asError(error));
    }
    let timer;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_TIMEOUT)));
    await Promise.race([this.ended, late]);
    clearTimeout(timer);
    this.#close(new ConnectionLost(reason));
  }

  #send(frame: string): void {
    if (this.#lost) return;
    try {
      this.#socket.send(frame);
    } catch (error) {
      // The socket is closing: pending requests are rejected when it has closed.
      this.#problem(asError(error));
    }
  }

  #close(reason: Error): void {
    if (this.#lost) return;
    this.#lost = reason;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#serving.end();
    for (const { settle } of pending) settle(reason);
    this.#end(reason);
  }

  /**
   * Fails the largest request without a response: the server, or a proxy with a lower limit, has refused a frame without
   * saying which. If the request were sent again, the next connection would end like this one.
   */
  #failLargest(): void {
    const [id, largest] = [...this.#pending].sort(([, a], [, b]) => b.size - a.size)[0] ?? [];
    if (id === undefined || !largest) return;
    this.#pending.delete(id);
    largest.settle(new LimitExceeded(`${largest.method}: the server refuses a frame of ${largest.size} characters`));
  }

  /** Handles a frame. It never throws, whatever the frame contains. */
  #receive(data: unknown): void {
    if (typeof data !== 'string') return; // the protocol has no binary messages
    if (this.#lost) return;
    let frame: any;
    try {
      frame = JSON.parse(data);
    } catch {
      return this.#problem(new Error('the server sent a frame that is not JSON'));
    }
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) {
      return this.#problem(new Error('the server sent a frame that is not an object'));
    }
    try {
      if (typeof frame.method === 'string') this.#incoming(frame, data.length);
      else this.#response(frame);
    } catch (error) {
      this.#problem(asError(error));
    }
  }

  #incoming(frame: any, size: number): void {
    const { id, method, params } = frame;
    if (id !== undefined) void this.#serving.start(id, method, params, (outcome) => this.#respond(id, method, outcome));
    else if (method === '$/cancel_request') this.#serving.cancel(params?.requestId);
    else this.#notified(method, params, size);
  }

  /** Responds to a request of the server. A result that cannot be sent becomes an error. */
  #respond(id: unknown, method: string, outcome: Outcome): void {
    let body: string;
    try {
      body = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
      const refused = tooLarge(method, body, frameBytes(this.agent));
      if (refused) throw refused;
    } catch (error) {
      body = JSON.stringify({ jsonrpc: '2.0', id, ...failure(ErrorCode.internal, asError(error).message) });
    }
    this.#send(body);
  }

  #response(frame: any): void {
    const { settle } = this.#pending.get(frame.id) ?? {};
    if (!settle) return this.#problem(stray(frame));
    this.#pending.delete(frame.id);
    if (frame.error !== undefined) settle(rpcError(frame.error));
    else if (frame.result === undefined) settle(new RpcError(ErrorCode.internal, 'the server sent a response with neither result nor error'));
    else settle(null, frame.result);
  }
}

function rpcError(error: any): RpcError {
  const code = typeof error?.code === 'number' ? error.code : ErrorCode.internal;
  const message = typeof error?.message === 'string' ? error.message : 'the server sent no error message';
  return new RpcError(code, message, error?.data);
}

function stray(frame: any): Error {
  if (frame.error !== undefined) return rpcError(frame.error);
  return new Error('the server sent a response to an unknown request');
}

function closeCode(event: any): number {
  return typeof event?.code === 'number' ? event.code : 1006;
}

function closeReason(code: number, event: any): string {
  const reason = typeof event?.reason === 'string' && event.reason !== '' ? `: ${event.reason}` : '';
  return `the connection was lost (${code}${reason})`;
}

/**
 * Opens a connection and initializes it. Rejects with `ConnectionRefused` if retrying would not help. Notifications are
 * delivered after it has resolved.
 */
export async function openConnection(
  endpoint: Endpoint,
  options: ConnectOptions,
  signal: AbortSignal,
  handlers: Handlers,
  notified: Notified,
  problem: (problem: Error) => void,
): Promise<Connection> {
  const limit = new AbortController();
  const abort = () => limit.abort(signal.reason);
  const timer = setTimeout(() => limit.abort(new ServerUnreachable('the server does not respond')), HANDSHAKE_TIMEOUT);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    const socket = await openSocket(endpoint, options.WebSocket, limit.signal);
    const connection = new Connection(socket, handlers, notified, problem);
    try {
      connection.agent = await initialize(connection, options, limit.signal);
    } catch (error) {
      void connection.close(1000, 'not initialized');
      throw error;
    }
    return connection;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

function initialize(connection: Connection, options: ConnectOptions, signal: AbortSignal): Promise<InitializeResult> {
  const params = {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: options.clientInfo ?? { name: 'strata-client', version: VERSION },
    clientCapabilities: capabilitiesOf(options),
  };
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
    connection.request('initialize', JSON.stringify(params), (error, result) => {
      signal.removeEventListener('abort', abort);
      if (error instanceof RpcError && error.code !== ErrorCode.busy) {
        reject(new ConnectionRefused(`the server refused initialize: ${error.message}`, 'protocol'));
      } else if (error) reject(error);
      else if (!isStrata(result)) reject(new ConnectionRefused('not a Strata server with version 1 of the protocol', 'protocol'));
      else resolve(result);
    });
  });
}

function isStrata(result: any): result is InitializeResult {
  return result?.protocolVersion === PROTOCOL_VERSION && Array.isArray(result.agentCapabilities?._meta?.strata?.methods);
}
