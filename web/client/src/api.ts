import type {
  ClientCapabilities,
  Counts,
  Implementation,
  InitializeResult,
  Methods,
  NewSessionParams,
  Place,
  PromptResult,
  ContentBlock,
  ServerEventNotification,
  Snapshot,
  SessionEventNotification,
  Update,
} from './protocol.js';

/** Where a server is, and what lets in. */
export interface Endpoint {
  /** `ws:`, `wss:`, `http:` or `https:`; without a path it is that of the WebSocket. */
  url: string;
  /** Without one a browser is let in by its cookie, at the server's own origin. */
  token?: string;
}

/** The part of a WebSocket that is needed. */
export interface Socket {
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketConstructor = new (url: string, protocols?: string | string[]) => Socket;

/** How long to wait between tries, in milliseconds. */
export interface Backoff {
  /** Before the second try; it doubles with each further one. 250 unless given. */
  first?: number;
  /** At most. 10,000 unless given. */
  most?: number;
}

export interface ConnectOptions extends Partial<Endpoint> {
  /** Asked for the endpoint before each try, in place of `url` and `token`: a server that was started anew may have another. */
  find?: () => Endpoint | Promise<Endpoint>;
  clientInfo?: Implementation;
  /** Notices and the progress of compactions are shown unless this says otherwise. */
  clientCapabilities?: ClientCapabilities;
  /** In place of the global one. */
  WebSocket?: SocketConstructor;
  backoff?: Backoff;
  onState?: (state: ConnectionState) => void;
  /** Told of what is wrong with a frame of the server, which is then ignored. */
  onProblem?: (problem: Error) => void;
  /** Gives up the first connection. */
  signal?: AbortSignal;
}

export type ConnectionState =
  | { kind: 'open' }
  /** `attempt` counts from 1 and begins anew with a connection that holds. */
  | { kind: 'connecting'; attempt: number }
  | { kind: 'waiting'; attempt: number; retryAt: Date; reason: string }
  /** For good: `close` was called, or the server refused in a way that another try cannot mend. */
  | { kind: 'closed'; reason: string };

export interface CallOptions {
  /** Aborting cancels the request on the server. */
  signal?: AbortSignal;
}

/** A client that stays connected. `connect` makes it. */
export interface Client {
  /** What the server of the present connection, or of the last one, said of itself. */
  readonly agent: InitializeResult;
  readonly state: ConnectionState;

  /** Calls `fn` with each new state; returns a function that ends this. */
  onState(fn: (state: ConnectionState) => void): () => void;

  /** While waiting for another try: tries now. */
  retryNow(): void;

  /**
   * Sends a request. Calls made while there is no connection wait for one, up to a bound.
   *
   * Rejects with `RpcError` where the server answers with an error, with `ConnectionLost` where the connection was lost
   * before the answer came (whether the request took effect is not known), with the signal's reason where that
   * cancelled it, and with `ClientClosed` where it was never sent.
   */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]['params'],
    options?: CallOptions,
  ): Promise<Methods[M]['result']>;

  /** A handle on a session; it costs nothing and asks for nothing. */
  session(sessionId: string): SessionHandle;

  newSession(params: NewSessionParams): Promise<SessionHandle>;

  /** News of all sessions, from now on. */
  serverEvents(options?: CallOptions): AsyncIterableIterator<ServerEvent>;

  /** Ends the connection and all that waits for it. */
  close(): Promise<void>;
}

export type ServerEvent =
  | ServerEventNotification
  /** There was no connection for a while: a list has to be asked for anew. */
  | { type: 'resubscribed'; counts: Counts };

export interface WatchOptions {
  signal?: AbortSignal;
  /** What was seen already. */
  after?: Place;
}

export type SessionEvent =
  /**
   * The present state. It takes the place of all that came before: it stands at the beginning, and wherever the server
   * could not go on without a gap, or the watcher was too slow.
   */
  | ({ type: 'snapshot'; running: string | null; snapshot: Snapshot } & Place)
  /** What of a long running text a snapshot could not hold has no number of its own but the snapshot's. */
  | ({ type: 'update'; update: Update } & Place)
  | ({ type: 'event'; event: SessionEventNotification } & Place);

export interface SessionHandle {
  readonly id: string;

  /**
   * What happens in the session: first a snapshot, or with `after` the events behind it, then each event once and in
   * order, across lost connections. It ends when the session is closed or deleted, the signal is aborted or the client is closed.
   * It throws `RpcError` where there is no such session.
   */
  watch(options?: WatchOptions): AsyncIterableIterator<SessionEvent>;

  /**
   * Sends a prompt. When the connection is lost it is sent again with the same `promptId`, which joins the turn. Aborting
   * cancels the turn, which then ends with `cancelled`.
   */
  prompt(content: string | ContentBlock[], options?: PromptOptions): Turn;

  /** Cancels the running turn, whoever began it. Without a connection it does nothing: the events tell whether a turn ended. */
  cancel(): void;
}

export interface PromptOptions {
  signal?: AbortSignal;
  /** Names the prompt in the session, at most 200 bytes; a random one unless given. */
  promptId?: string;
}

/** A turn: its updates, to be iterated once, and how it ended. */
export interface Turn extends AsyncIterable<Update> {
  readonly promptId: string;
  /** Rejects with `RpcError` where the turn failed. */
  readonly result: Promise<PromptResult>;
  /** The whole text of the answer, once the turn has ended. Rejects as `result` does. */
  text(): Promise<string>;
  /** Cancels the turn. */
  cancel(): void;
}

