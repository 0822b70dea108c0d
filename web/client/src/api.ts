import type {
  AvailableCommand,
  ClientCapabilities,
  Counts,
  DeclaredTool,
  Implementation,
  InitializeResult,
  Json,
  MessageMeta,
  Methods,
  NewSessionParams,
  Position,
  PromptResult,
  ContentBlock,
  ServerEventNotification,
  ServerRequests,
  Snapshot,
  SessionEventNotification,
  ToolCall,
  ToolResult,
  Update,
} from './protocol.js';

/** The address of a server and the credentials. */
export interface Endpoint {
  /** `ws:`, `wss:`, `http:` or `https:`. Without a path, the WebSocket's path is used. */
  url: string;
  /** Not needed in a page of the HUD, which has a secret of its own. */
  token?: string;
  /** The secret of a page from the server's own origin, which also has a cookie. */
  page?: string;
}

/** The part of the WebSocket interface that this library uses. */
export interface Socket {
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketConstructor = new (url: string, protocols?: string | string[]) => Socket;

/** Delays between attempts to connect, in milliseconds. */
export interface Backoff {
  /** The delay before the second attempt, default 250. It doubles with each further attempt. */
  first?: number;
  /** The maximum delay, default 10,000. */
  most?: number;
}

export interface ConnectOptions extends Partial<Endpoint> {
  /** Called for the endpoint before each attempt, instead of `url`, `token` and `page`: a restarted server may have a new one. */
  find?: () => Endpoint | Promise<Endpoint>;
  clientInfo?: Implementation;
  /**
   * By default, notices and the progress of compactions are requested. The capabilities of `handlers` are added, and
   * `_meta.strata.permission` is false without a handler.
   */
  clientCapabilities?: ClientCapabilities;
  /** Serve the requests of the server. */
  handlers?: RequestHandlers;
  /** Used instead of the global one. */
  WebSocket?: SocketConstructor;
  backoff?: Backoff;
  onState?: (state: ConnectionState) => void;
  /** Called for each invalid frame of the server; the frame is ignored. */
  onProblem?: (problem: Error) => void;
  /** Aborting gives up the first connection. */
  signal?: AbortSignal;
}

export type ConnectionState =
  | { kind: 'open' }
  /** `attempt` counts from 1 and restarts after a stable connection. */
  | { kind: 'connecting'; attempt: number }
  /** `error`: `ServerUnreachable`, `ConnectionLost`, or the error that `find` has thrown. `reason` is its message. */
  | { kind: 'waiting'; attempt: number; retryAt: Date; reason: string; error: Error }
  /**
   * Final. `error` is a `ConnectionRefused` if the server refused and retrying would not help, a `ClientClosed` if `close`
   * was called, and otherwise the reason of the signal. `reason` is its message.
   */
  | { kind: 'closed'; reason: string; error: Error };

export interface CallOptions {
  /** Aborting cancels the request on the server. */
  signal?: AbortSignal;
}

export interface ServeOptions {
  /** Is aborted if the server no longer waits for the response, and when the connection ends. */
  signal: AbortSignal;
}

/**
 * Serves a request of the server. The server receives an `RpcError` that it throws unchanged, and other errors as internal
 * errors with their message. When `signal` is aborted, the request has been responded to, and the outcome is dropped: a
 * handler that waits should change nothing after that.
 */
export type RequestHandler<M extends keyof ServerRequests> = (
  params: ServerRequests[M]['params'],
  options: ServeOptions,
) => ServerRequests[M]['result'] | Promise<ServerRequests[M]['result']>;

/** The functions that serve the requests of the server. Each is optional; the client has the capabilities of those given. */
export interface RequestHandlers {
  /** Asks the user whether a call may run. */
  permission?: RequestHandler<'session/request_permission'>;
  /** Returns the text of a file, with unsaved changes. */
  readTextFile?: RequestHandler<'fs/read_text_file'>;
  /** Replaces the text of a file. */
  writeTextFile?: RequestHandler<'fs/write_text_file'>;
  terminal?: TerminalHandlers;
  /** Serves the files of sessions with the workspace `client`, with `readTextFile` and `writeTextFile`. */
  workspace?: WorkspaceRequestHandlers;
  /** Runs the tools that were declared without `run`. */
  toolCall?: RequestHandler<'_strata/tool/call'>;
}

/** Run commands in terminals of the editor. */
export interface TerminalHandlers {
  create: RequestHandler<'terminal/create'>;
  output: RequestHandler<'terminal/output'>;
  waitForExit: RequestHandler<'terminal/wait_for_exit'>;
  kill: RequestHandler<'terminal/kill'>;
  release: RequestHandler<'terminal/release'>;
}

/** Serve the files of a workspace. `serveWorkspace` returns them. */
export interface WorkspaceRequestHandlers {
  /** Identifies the files: the server asks for those of a session only clients with the id with which it was created. */
  id?: string;
  list: RequestHandler<'_strata/workspace/list'>;
  /** Without it, the server reads each file with `readTextFile`. */
  read?: RequestHandler<'_strata/workspace/read'>;
  delete: RequestHandler<'_strata/workspace/delete'>;
  move: RequestHandler<'_strata/workspace/move'>;
}

/** A tool that the model can call. */
export interface ClientTool extends DeclaredTool {
  /**
   * Runs a call. `input` matches `inputSchema`. A text stands for a result with this text. The model receives the message
   * of an error that it throws. Calls of a tool without `run` get the handler `toolCall`.
   */
  run?: (input: { [member: string]: any }, options: ToolRunOptions) => string | ToolResult | Promise<string | ToolResult>;
}

export interface ToolRunOptions extends ServeOptions {
  sessionId: string;
  /** As in the updates of the call. */
  toolCallId: string;
}

/** A client that reconnects automatically. `connect` creates it. */
export interface Client {
  /** The `initialize` result of the current or the last connection. */
  readonly agent: InitializeResult;
  readonly state: ConnectionState;

  /** Calls `fn` with each new state; returns a function that removes it. */
  onState(fn: (state: ConnectionState) => void): () => void;

  /** If the client is waiting for the next attempt, starts it immediately. */
  retryNow(): void;

  /**
   * Sends a request. Without a connection the call waits for one; the number of waiting calls is bounded.
   *
   * Rejects with `RpcError` if the server responds with an error, with `ConnectionLost` if the connection is lost before
   * the response (the request may or may not have taken effect), with the signal's reason if the signal cancels it, with
   * `ClientClosed` if it was never sent, and with `LimitExceeded`, without being sent, if too many calls are waiting or
   * the server would not read so large a frame.
   */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]['params'],
    options?: CallOptions,
  ): Promise<Methods[M]['result']>;

  /**
   * Serves requests of the server for a method, in place of an earlier handler, also one of `handlers`. The capability must
   * be named in `clientCapabilities`. Requests for methods without a handler get `methodNotFound`. Returns a function that
   * removes the handler.
   */
  serve<M extends keyof ServerRequests>(method: M, handler: RequestHandler<M>): () => void;

  /** Returns a handle to a session. It sends no request. */
  session(sessionId: string): SessionHandle;

  /**
   * Creates a session. If its workspace is `client` and this client has the files, the client stays subscribed to it, so
   * that the server can always ask for them.
   */
  newSession(params: NewSessionParams, options?: NewSessionOptions): Promise<SessionHandle>;

  /** Events of all sessions, from now on. */
  serverEvents(options?: CallOptions): AsyncIterableIterator<ServerEvent>;

  /** Closes the connection and rejects waiting calls. */
  close(): Promise<void>;
}

export interface NewSessionOptions {
  /** Tools that the model can call. The handle declares them with each of its prompts. */
  tools?: ClientTool[];
}

export type ServerEvent =
  | ServerEventNotification
  /** The connection was interrupted: lists must be fetched again. */
  | { type: 'resubscribed'; counts: Counts };

export interface WatchOptions {
  signal?: AbortSignal;
  /** The position of the last event already seen. */
  after?: Position;
  /** Also deliver the slash commands of the session. */
  commands?: boolean;
  /**
   * Also deliver the messages that this client adds, with prompts or `_strata/history/append`, as other clients receive them.
   * By default only a snapshot contains them, and after a lost connection the updates that were missed.
   */
  own?: boolean;
}

export type SessionEvent =
  /**
   * The current state, which replaces everything before. It is the first event, and is sent again if the server cannot
   * continue without a gap or the watcher was too slow.
   */
  | ({ type: 'snapshot'; running: string | null; snapshot: Snapshot } & Position)
  /** The rest of a long running reply that did not fit a snapshot has the snapshot's sequence number. */
  | ({ type: 'update'; update: Update } & Position)
  | ({ type: 'event'; event: SessionEventNotification } & Position)
  /** The slash commands, if the watcher wants them. This is no event of the session: it has the position of the event before. */
  | ({ type: 'commands'; commands: AvailableCommand[] } & Position);

export interface SessionHandle {
  readonly id: string;

  /**
   * The events of the session: first a snapshot, or with `after` the events after that position, then each event once and
   * in order, across lost connections. The iteration ends when the session is closed or deleted, the signal is aborted or
   * the client is closed. It throws `RpcError` if the session does not exist.
   */
  watch(options?: WatchOptions): AsyncIterableIterator<SessionEvent>;

  /**
   * Sends a prompt. After a lost connection it is sent again with the same `promptId`, which joins the turn. Aborting the
   * signal cancels the turn, which ends with `cancelled`.
   */
  prompt(content: string | ContentBlock[], options?: PromptOptions): Turn;

  /** Cancels the running turn, whichever client started it. Without a connection it does nothing; watch for the turn's end. */
  cancel(): void;
}

export interface PromptOptions {
  signal?: AbortSignal;
  /** Identifies the prompt in the session, at most 200 bytes; random by default. */
  promptId?: string;
  /** Attached to the user's message. */
  meta?: Json | MessageMeta;
  /** Replaces the tools that the handle has declared, also for its later prompts; an empty list withdraws them. */
  tools?: ClientTool[];
}

/**
 * A turn: its updates, which can be iterated once, and its result. The reply has one or more steps, each with a message of
 * its own: the updates are the chunks of all messages, the calls, the plan, and what else the session reports meanwhile.
 * After a lost connection no chunk is missing or repeated, and a call is told again only if its state has changed.
 */
export interface Turn extends AsyncIterable<Update> {
  readonly promptId: string;
  /** Rejects with `RpcError` if the turn failed. */
  readonly result: Promise<PromptResult>;
  /**
   * Resolves with the text of the reply when the turn has ended. If the reply has several steps, this is the text of all
   * their messages, in order and separated by blank lines, without thinking and calls. Rejects like `result`, and with
   * `LimitExceeded` if the text is longer than 4 Mi characters.
   */
  text(): Promise<string>;
  /**
   * Resolves with the tool calls of the reply in their last state, in the order of their announcements, when the turn has
   * ended. Rejects like `result`, and with `LimitExceeded` if the calls are longer than 16 Mi characters.
   */
  calls(): Promise<ToolCall[]>;
  /** Cancels the turn. */
  cancel(): void;
}

