import type {
  CallOptions,
  Client,
  ClientTool,
  ConnectionState,
  ConnectOptions,
  NewSessionOptions,
  PromptOptions,
  RequestHandler,
  ServerEvent,
  SessionEvent,
  SessionHandle,
  Turn,
  WatchOptions,
} from './api.js';
import { abortReason, ClientClosed, RpcError } from './errors.js';
import { claimOf, methodsOf, type Claim } from './handlers.js';
import { Holding } from './holding.js';
import { unsubscribe } from './subscription.js';
import { Subscriptions } from './subscriptions.js';
import { CancelledUnsent, Link, type Follower } from './link.js';
import {
  ErrorCode,
  type ContentBlock,
  type InitializeResult,
  type Methods,
  type NewSessionParams,
  type ServerRequests,
} from './protocol.js';
import { ServerEvents } from './server-events.js';
import { asDeclared, Tools } from './tools.js';
import { PromptTurn } from './turn.js';
import { Watcher } from './watcher.js';

/**
 * Connects to a server and resolves when the connection is initialized. If the server cannot be reached, it retries with
 * growing delays: `onState` reports them, `signal` gives up. Rejects with `ConnectionRefused` if retrying would not help.
 */
export async function connect(options: ConnectOptions): Promise<Client> {
  const client = new LinkedClient(options);
  await client.start();
  return client;
}

class LinkedClient implements Client, Follower {
  readonly #link: Link;
  readonly #subscriptions: Subscriptions;
  readonly #serverEvents: ServerEvents;
  readonly #tools = new Tools();
  readonly #claim: Claim;

  constructor(options: ConnectOptions) {
    this.#claim = claimOf(options);
    this.#link = new Link(options, this);
    this.#link.serve('_strata/tool/call', (params, more) => this.#tools.call(params, more));
    for (const [method, handler] of methodsOf(options.handlers ?? {})) this.serve(method, handler as RequestHandler<typeof method>);
    this.#subscriptions = new Subscriptions(this.#link, this.#claim);
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

  serve<M extends keyof ServerRequests>(method: M, handler: RequestHandler<M>): () => void {
    if (method === '_strata/tool/call') return this.#tools.serve(handler);
    return this.#link.serve(method, handler);
  }

  session(sessionId: string): SessionHandle {
    return new Handle(sessionId, this.#link, this.#subscriptions, this.#tools);
  }

  async newSession(params: NewSessionParams, { tools }: NewSessionOptions = {}): Promise<SessionHandle> {
    const given = params._meta?.strata;
    const hasFiles = given?.workspace === 'client' && this.#claim.workspace === 'client';
    const strata = { ...(hasFiles ? this.#claim : {}), ...given, ...(tools ? { tools: asDeclared(tools) } : {}) };
    const { sessionId } = await this.call('session/new', hasFiles || tools ? { ...params, _meta: { strata } } : params);
    if (hasFiles) this.#subscriptions.add(sessionId, new Holding());
    else if (!this.#subscriptions.has(sessionId)) unsubscribe(this.#link, sessionId); // a session is subscribed to by watching it
    if (tools) this.#tools.declare(sessionId, tools);
    return new Handle(sessionId, this.#link, this.#subscriptions, this.#tools, tools);
  }

  serverEvents(options: CallOptions = {}): AsyncIterableIterator<ServerEvent> {
    return this.#serverEvents.subscribe(options);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  // Follower

  up(): void {
    this.#subscriptions.up();
    this.#serverEvents.up();
  }

  down(): void {
    this.#subscriptions.down();
  }

  end(reason: Error): void {
    const error = reason instanceof ClientClosed ? undefined : reason;
    this.#subscriptions.end(error);
    this.#serverEvents.end(error);
  }

  notified(method: string, params: any, size: number): void {
    if (typeof params !== 'object' || params === null) return;
    switch (method) {
      case 'session/update':
        return this.#subscriptions.updated(params, size);
      case '_strata/event':
        return this.#subscriptions.happened(params, size);
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
  readonly #subscriptions: Subscriptions;
  readonly #tools: Tools;
  /** Declared with each prompt: the server forgets them if it is restarted, and cannot call them on a lost connection. */
  #declared: ClientTool[] | undefined;

  constructor(readonly id: string, link: Link, subscriptions: Subscriptions, tools: Tools, declared?: ClientTool[]) {
    this.#link = link;
    this.#subscriptions = subscriptions;
    this.#tools = tools;
    this.#declared = declared;
  }

  watch(options: WatchOptions = {}): AsyncIterableIterator<SessionEvent> {
    return new Watcher(this.#subscriptions, this.id, options).events;
  }

  prompt(content: string | ContentBlock[], options: PromptOptions = {}): Turn {
    const tools = (this.#declared = options.tools ?? this.#declared);
    if (tools) this.#tools.declare(this.id, tools);
    return new PromptTurn(this.#link, this.#subscriptions, this.id, content, tools ? { ...options, tools: asDeclared(tools) } : options);
  }

  cancel(): void {
    this.#link.notify('session/cancel', { sessionId: this.id });
  }
}
