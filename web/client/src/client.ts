import type {
  CallOptions,
  Client,
  ConnectionState,
  ConnectOptions,
  PromptOptions,
  ServerEvent,
  SessionEvent,
  SessionHandle,
  Turn,
  WatchOptions,
} from './api.js';
import { abortReason, ClientClosed, RpcError } from './errors.js';
import { unsubscribe } from './feed.js';
import { Feeds } from './feeds.js';
import { CancelledUnsent, Link, type Follower } from './link.js';
import { ErrorCode, type ContentBlock, type InitializeResult, type Methods, type NewSessionParams } from './protocol.js';
import { ServerEvents } from './server-events.js';
import { PromptTurn } from './turn.js';
import { Watcher } from './watcher.js';

/**
 * Connects to a server and resolves when that is done. A server that cannot be reached is tried again and again, with
 * growing pauses: `onState` tells of it, `signal` gives up. Rejects with `ConnectionRefused` where another try would not help.
 */
export async function connect(options: ConnectOptions): Promise<Client> {
  const client = new LinkedClient(options);
  await client.start();
  return client;
}

class LinkedClient implements Client, Follower {
  readonly #link: Link;
  readonly #feeds: Feeds;
  readonly #serverEvents: ServerEvents;

  constructor(options: ConnectOptions) {
    this.#link = new Link(options, this);
    this.#feeds = new Feeds(this.#link);
    this.#serverEvents = new ServerEvents(this.#link);
  }

  start(): Promise<void> {
    return this.#link.start();
  }

  get agent(): InitializeResult {
    return this.#link.agent;
  }

  get state(): ConnectionState {
    return this.#link.state;
  }

  onState(fn: (state: ConnectionState) => void): () => void {
    return this.#link.onState(fn);
  }

  retryNow(): void {
    this.#link.retryNow();
  }

  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]['params'],
    { signal }: CallOptions = {},
  ): Promise<Methods[M]['result']> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortReason(signal));
      const abort = () => pending.cancel(true);
      signal?.addEventListener('abort', abort);
      const pending = this.#link.request(method, params, (error, result) => {
        signal?.removeEventListener('abort', abort);
        if (!error) resolve(result);
        else reject(signal?.aborted && isCancelled(error) ? abortReason(signal) : error);
      });
    });
  }

  session(sessionId: string): SessionHandle {
    return new Handle(sessionId, this.#link, this.#feeds);
  }

  async newSession(params: NewSessionParams): Promise<SessionHandle> {
    const { sessionId } = await this.call('session/new', params);
    if (!this.#feeds.has(sessionId)) unsubscribe(this.#link, sessionId); // who wants to hear of it watches it
    return this.session(sessionId);
  }

  serverEvents(options: CallOptions = {}): AsyncIterableIterator<ServerEvent> {
    return this.#serverEvents.subscribe(options);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  // What the link tells.

  up(): void {
    this.#feeds.up();
    this.#serverEvents.up();
  }

  down(): void {
    this.#feeds.down();
  }

  end(reason: Error): void {
    const error = reason instanceof ClientClosed ? undefined : reason;
    this.#feeds.end(error);
    this.#serverEvents.end(error);
  }

  notified(method: string, params: any, size: number): void {
    if (typeof params !== 'object' || params === null) return;
    switch (method) {
      case 'session/update':
        return this.#feeds.updated(params, size);
      case '_strata/event':
        return this.#feeds.happened(params, size);
      case '_strata/server/event':
        return this.#serverEvents.notified(params);
    }
  }
}

function isCancelled(error: Error): boolean {
  return error instanceof CancelledUnsent || (error instanceof RpcError && error.code === ErrorCode.cancelled);
}

class Handle implements SessionHandle {
  readonly #link: Link;
  readonly #feeds: Feeds;

  constructor(
    readonly id: string,
    link: Link,
    feeds: Feeds,
  ) {
    this.#link = link;
    this.#feeds = feeds;
  }

  watch(options: WatchOptions = {}): AsyncIterableIterator<SessionEvent> {
    return new Watcher(this.#feeds, this.id, options).events;
  }

  prompt(content: string | ContentBlock[], options: PromptOptions = {}): Turn {
    return new PromptTurn(this.#link, this.#feeds, this.id, content, options);
  }

  cancel(): void {
    this.#link.notify('session/cancel', { sessionId: this.id });
  }
}
