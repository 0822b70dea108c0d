import type { ConnectionState, ConnectOptions, Endpoint } from './api.js';
import { delay } from './backoff.js';
import { openConnection, type Connection, type Settle } from './connection.js';
import { frameBytes, requestFrame, tooLarge } from './limits.js';
import { asError, ClientClosed, ConnectionRefused, LimitExceeded, ServerUnreachable } from './errors.js';
import type { ClientNotifications, InitializeResult } from './protocol.js';
import type { Handler, Handlers } from './serving.js';

/** The maximum number of requests in flight; the server allows 64 per connection. */
export const MAX_IN_FLIGHT = 60;

/** The maximum number of requests that wait for a connection or for others to complete. */
export const MAX_WAITING = 1_024;

/** The minimum duration of a connection after which attempts are counted from 1 again, in milliseconds. */
const STABLE = 5_000;

/** A receiver of connection events. Its methods must not throw. */
export interface Follower {
  /** There is a new connection. Urgent requests made during this call are sent before all waiting ones. */
  up(): void;
  down(): void;
  /** There will be no more connections. */
  end(reason: Error): void;
  notified(method: string, params: any, size: number): void;
}

/** A request without a response. */
export interface Pending {
  /**
   * Cancels the request. If it was sent, the server is notified and then responds to it. If it was not sent, it is
   * settled with `CancelledUnsent` if it may be `dropped`; otherwise it is sent and then cancelled.
   */
  cancel(dropped: boolean): void;
}

/** A request was cancelled before it was sent. */
export class CancelledUnsent extends Error {}

interface Request {
  method: string;
  body: string | undefined;
  settle: Settle;
  id: number | null;
  done: boolean;
  cancelled: boolean;
}

/** A link to the server that reconnects automatically, with the requests that wait for a connection. */
export class Link {
  readonly #options: ConnectOptions;
  readonly #follower: Follower;
  readonly #handlers: Handlers = new Map();
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  #state: ConnectionState = { kind: 'connecting', attempt: 1 };
  #connection: Connection | null = null;
  #agent: InitializeResult | null = null;
  #urgent: Request[] = [];
  #waiting: Request[] = [];
  #wake: (() => void) | null = null;
  #kept: Promise<void> = Promise.resolve();
  #held = false;
  #refused: string | null = null;

  constructor(options: ConnectOptions, follower: Follower) {
    this.#options = options;
    this.#follower = follower;
    if (options.onState) this.#listeners.add(options.onState);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get agent(): InitializeResult {
    if (!this.#agent) throw new ClientClosed('the client has not connected yet');
    return this.#agent;
  }

  get open(): boolean {
    return this.#connection?.alive === true;
  }

  onState(fn: (state: ConnectionState) => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  retryNow(): void {
    this.#wake?.();
  }

  /** Keeps the link connected until it is closed. Resolves at the first connection; rejects if there can be none. */
  start(): Promise<void> {
    const online = () => this.retryNow();
    const target = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
    target.addEventListener?.('online', online);
    return new Promise((resolve, reject) => {
      this.#kept = this.#keep(resolve).then((reason) => {
        target.removeEventListener?.('online', online);
        this.#finish(reason);
        reject(reason);
      });
    });
  }

  /**
   * Sends a request, or queues it until that is possible. Urgent requests are sent before waiting ones. `settle` is called
   * once, in the order of the received frames; immediately if no server could take the request.
   */
  request(method: string, params: unknown, settle: Settle, urgent = false): Pending {
    const request: Request = { method, body: undefined, settle, id: null, done: false, cancelled: false };
    const queue = urgent ? this.#urgent : this.#waiting;
    const refused = this.#encode(request, params);
    if (refused) settle(refused);
    else if (this.#state.kind === 'closed') settle(new ClientClosed(`the client is closed: ${this.#state.reason}`));
    else if (queue.length >= MAX_WAITING) settle(new LimitExceeded(`${MAX_WAITING} requests are already waiting`));
    else {
      queue.push(request);
      this.#flush();
    }
    return { cancel: (dropped) => this.#cancel(request, dropped) };
  }

  /** Returns the error for a request that the server would not read, null for any other. */
  refusal(method: string, params: unknown): Error | null {
    return this.#encode({ method }, params);
  }

  /** Encodes the parameters of a request. Returns the error if that is not possible, or if its frame is too large. */
  #encode(request: { method: string; body?: string | undefined }, params: unknown): Error | null {
    try {
      request.body = JSON.stringify(params);
    } catch (error) {
      return asError(error);
    }
    const frame = requestFrame(0, request.method, request.body);
    return tooLarge(request.method, frame, frameBytes(this.#agent));
  }

  /** Serves a method for the server, on all connections, in place of an earlier handler. Returns a function that ends it. */
  serve(method: string, handler: Handler): () => void {
    this.#handlers.set(method, handler);
    return () => {
      if (this.#handlers.get(method) === handler) this.#handlers.delete(method);
    };
  }

  async close(): Promise<void> {
    this.#stop.abort(new ClientClosed('close was called'));
    this.#wake?.();
    await this.#connection?.close(1000, 'close was called');
    await this.#kept;
  }

  report(problem: Error): void {
    try {
      this.#options.onProblem?.(problem);
    } catch {
      // An error of the error handler cannot be reported.
    }
  }

  /** Connects again and again. Resolves with the reason of the end. */
  async #keep(connected: () => void): Promise<Error> {
    const { signal } = this.#stop;
    const giveUp = () => this.#stop.abort(this.#options.signal?.reason);
    this.#options.signal?.addEventListener('abort', giveUp);
    if (this.#options.signal?.aborted) giveUp();
    for (let attempt = 1; !signal.aborted; attempt++) {
      this.#setState({ kind: 'connecting', attempt });
      let reason: Error;
      try {
        this.#connection = await this.#connect(signal);
        this.#options.signal?.removeEventListener('abort', giveUp);
        const since = Date.now();
        this.#up(this.#connection);
        connected();
        reason = await this.#connection.ended;
        if (Date.now() - since >= STABLE) attempt = 0;
        this.#down();
      } catch (error) {
        reason = asError(error);
        if (reason instanceof ConnectionRefused) return reason;
      }
      if (!signal.aborted) await this.#pause(Math.max(attempt, 1), reason);
    }
    this.#options.signal?.removeEventListener('abort', giveUp);
    return asError(signal.reason);
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const { url, token, page, find } = this.#options;
    const endpoint: Endpoint | null = find ? await find()
      : url === undefined ? null : { url, ...(token === undefined ? {} : { token }), ...(page === undefined ? {} : { page }) };
    if (!endpoint) throw new ConnectionRefused('no server given: set url or find', 'address');
    try {
      const notified = (method: string, params: any, size: number) => this.#follower.notified(method, params, size);
      const connection = await openConnection(endpoint, this.#options, signal, this.#handlers, notified, (problem) => this.report(problem));
      this.#refused = null;
      return connection;
    } catch (error) {
      if (error instanceof ConnectionRefused && find && this.#agent && !this.#isRepeated(endpoint)) throw new ServerUnreachable(error.message);
      throw error;
    }
  }

  /**
   * Returns whether the same endpoint refused last time, too. A found endpoint may be left over from a server that has
   * ended, and the next search may find another one.
   */
  #isRepeated({ url, token, page }: Endpoint): boolean {
    const key = JSON.stringify([url, token, page]);
    const repeated = this.#refused === key;
    this.#refused = key;
    return repeated;
  }

  #up(connection: Connection): void {
    this.#agent = connection.agent;
    this.#held = true;
    this.#follower.up();
    this.#held = false;
    this.#flush();
    this.#setState({ kind: 'open' });
  }

  #down(): void {
    this.#connection = null;
    this.#follower.down();
  }

  /** Waits until the next attempt is due or `retryNow` is called. */
  #pause(attempt: number, reason: Error): Promise<void> {
    const milliseconds = delay(attempt, this.#options.backoff);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      this.#setState({ kind: 'waiting', attempt, retryAt: new Date(Date.now() + milliseconds), reason: reason.message, error: reason });
    });
  }

  #finish(reason: Error): void {
    this.#setState({ kind: 'closed', reason: reason.message, error: reason });
    const unsent = new ClientClosed(`the client is closed: ${reason.message}`);
    for (const request of [...this.#urgent.splice(0), ...this.#waiting.splice(0)]) {
      request.done = true;
      request.settle(unsent);
    }
    this.#follower.end(reason);
  }

  #flush(): void {
    const connection = this.#connection;
    while (connection?.alive && connection.inFlight < MAX_IN_FLIGHT) {
      const request = this.#urgent.shift() ?? (this.#held ? undefined : this.#waiting.shift());
      if (!request) return;
      request.id = connection.request(request.method, request.body, (error, result) => {
        request.done = true;
        request.settle(error, result);
        this.#flush();
      });
      if (request.cancelled) this.#sendCancel(request);
    }
  }

  /** Sends a notification if there is a connection. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    this.#connection?.notify(method, params);
  }

  #cancel(request: Request, dropped: boolean): void {
    if (request.done) return;
    request.cancelled = true;
    if (request.id !== null) return this.#sendCancel(request);
    if (!dropped) return;
    this.#urgent = this.#urgent.filter((r) => r !== request);
    this.#waiting = this.#waiting.filter((r) => r !== request);
    request.done = true;
    request.settle(new CancelledUnsent('the request was cancelled before it was sent'));
  }

  #sendCancel({ id }: Request): void {
    this.#connection?.notify('$/cancel_request', { requestId: id });
  }

  #setState(state: ConnectionState): void {
    this.#state = state;
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.report(asError(error));
      }
    }
  }
}
