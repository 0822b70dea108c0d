/**
 * The protocol as types: each method with its parameters and result, each update of a session, each event, and the
 * error codes. `docs/protocol.md` says what they do and has an example of each; a test compiles those examples
 * against this file.
 *
 * Times are RFC 3339 in UTC, token counts are integers, costs are US dollars, sizes are bytes. A field that is
 * optional here is left out where there is nothing to say.
 */

/** A time: RFC 3339, UTC. */
export type Time = string;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The codes of {@link RpcErrorObject}. */
export const ErrorCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  cancelled: -32800,
  /** There is none such; `data: {kind, id}`. */
  notFound: -32002,
  /** A turn runs, or too much waits; `data: {turnId}` for a turn. */
  busy: -32010,
  /** The message does not fit the model's window; `data: {tokens, limit}`. */
  overBudget: -32011,
  /** The provider failed; `data: {status, retryAfterMs?, partial}`. */
  provider: -32012,
  /** A path was refused; `data: {path, reason}`. */
  refusedPath: -32013,
  /** A file may not be patched; `data: {path, reason}`. */
  editRefused: -32014,
  /** Storing failed; `data: {reason}`. */
  storage: -32015,
} as const;

/** An error as the server answers it, and as it is stored with a turn that failed. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** A name and version of a program. */
export interface Implementation {
  name: string;
  title?: string;
  version: string;
}

/** What a client can show beyond what every client can. */
export interface ClientCapabilities {
  session?: {
    /** Notices to the user: without it no `notice` comes. */
    notices?: object;
    /** Progress of compactions: without it neither `compaction_update` nor `compaction_summary_chunk` comes. */
    compaction?: object;
  };
  [other: string]: unknown;
}

export interface InitializeParams {
  protocolVersion: number;
  clientInfo?: Implementation;
  clientCapabilities?: ClientCapabilities;
}

export interface InitializeResult {
  protocolVersion: number;
  agentCapabilities: {
    loadSession: boolean;
    promptCapabilities: { image: boolean; audio: boolean; embeddedContext: boolean };
    mcpCapabilities: { http: boolean; sse: boolean };
    sessionCapabilities: { [capability: string]: object };
    _meta: {
      strata: {
        /** The server's version. */
        version: string;
        /** The extension methods that it serves. */
        methods: string[];
        /** The notifications that it sends beside `session/update`. */
        notifications: string[];
      };
    };
  };
  agentInfo: Implementation;
  authMethods: object[];
}

/** The id of a config option. Which there are depends on the session's model and profile. */
export type ConfigId = 'model' | 'thought_level' | 'profile' | 'compaction' | 'mode';

/** A choice of a session. */
export interface ConfigOption {
  id: ConfigId | (string & {});
  name: string;
  description?: string;
  category?: string;
  type: 'select';
  currentValue: string;
  options: ConfigValue[];
}

export interface ConfigValue {
  value: string;
  name: string;
  description?: string;
}

/** The phases of a session's profile. */
export interface ModeState {
  currentModeId: string;
  availableModes: Mode[];
}

export interface Mode {
  id: string;
  name: string;
  description?: string;
}

/** The choices in force, by name. */
export interface Config {
  /** `provider/model`. */
  model?: string;
  thoughtLevel?: string;
  profile?: string;
  mode?: string;
  /** The strategy of compactions. */
  compaction?: string;
}

export interface SessionInfo {
  sessionId: string;
  /** The session's folder, absolute. */
  cwd: string;
  /** Further roots, absolute. */
  additionalDirectories?: string[];
  title?: string;
  updatedAt: Time;
  /** In a list, of a session that does something: `strata.state`. */
  _meta?: { [key: string]: Json };
}

/** Tokens of a model call. The three input numbers add up to the whole input. */
export interface Usage {
  /** Neither read from a cache nor written to one. */
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** Sums over all model calls of a session. */
export interface Totals {
  calls: number;
  usage: Usage;
  /** US dollars. */
  cost: number;
}

/** Content of a prompt, and of chunks. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; /** base64 */ data: string; mimeType: string; uri?: string }
  | { type: 'resource_link'; uri: string; name?: string; mimeType?: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; /** base64 */ blob?: string } };

export type Role = 'user' | 'assistant' | 'tool';

/** A block of a stored message. */
export type Block =
  | TextBlock
  | ImageBlock
  /** `signature` is the provider's seal. */
  | { type: 'thinking'; text?: string; signature?: string }
  /** A link that stays text. */
  | { type: 'resource_link'; uri: string; name?: string; mimeType?: string }
  /** A text that the client embedded. */
  | { type: 'resource'; uri: string; text?: string; mimeType?: string }
  /** `args` is JSON unless `incomplete`: then it was cut off, and the call must not be carried out. */
  | { type: 'tool_call'; callId: string; name: string; args?: string; incomplete?: boolean; signature?: string }
  | { type: 'tool_result'; callId: string; content?: (TextBlock | ImageBlock)[]; isError?: boolean };

export interface TextBlock {
  type: 'text';
  text?: string;
}

/** A picture: base64, and its size in pixels where that is known. */
export interface ImageBlock {
  type: 'image';
  data?: string;
  mimeType?: string;
  width?: number;
  height?: number;
  uri?: string;
}

export type MessageStatus = 'complete' | 'cancelled' | 'interrupted' | 'failed' | 'damaged';

/** A message of the transcript. */
export interface Message {
  id: string;
  /** Position in the session, which messages share with edits, from 1. It is not that of events. */
  seq: number;
  /** The turn that it belongs to; none for appended ones. */
  turnId?: string;
  role: Role;
  blocks: Block[];
  /** Counted once, when it was stored. */
  tokens: number;
  at: Time;
  /** `provider/model` that wrote it. */
  model?: string;
  status?: MessageStatus;
  /** What the client attached to it. */
  meta?: Json | MessageMeta;
}

/** What is known of the fields that a client may attach to a message: how far the answer brought the work. */
export interface MessageMeta {
  /** As the client scores it, 0 or more. */
  progressScore?: number;
  /** What is done now that was not before. */
  progressMarkers?: string[];
  /** Paths of the files that were changed. */
  fileChanges?: string[];
  durationSeconds?: number;
  /** With which the work was done. */
  tool?: string;
  [other: string]: Json | undefined;
}

/** What stands in the working history for the messages that were compacted. */
export interface Summary {
  /** Of the newest compaction. */
  editId: string;
  text: string;
  tokens: number;
  /** For how many it stands. */
  messages: number;
}

/** What the view does to a message that it does not show as it is. */
export interface MessageView {
  /** Why the view does not hold it; missing where it does. */
  state?: 'summarised' | 'left_out' | 'cleared' | 'replaced' | 'taken_back';
  /** The edit that took it out. */
  editId?: string;
  /** Blocks that are shown differently, in the order of the edits. */
  patches?: MessagePatch[];
}

export interface MessagePatch {
  /** Index in the message's blocks. */
  block: number;
  /** Index in the content of a tool's result, otherwise 0. */
  part: number;
  /** What is shown instead. */
  text: string;
  /** Tokens. */
  saved: number;
  state: 'duplicate' | 'shortened';
}

/** A message, and what the view does to it. */
export interface ListedMessage extends Message {
  view?: MessageView;
  /** Whether the working history, which the model is shown, holds it. */
  inView: boolean;
}

/** A message as clients append it. */
export interface NewMessage {
  role: Role;
  content: string | Block[];
  /** The client's own. */
  meta?: Json | MessageMeta;
}

export type StopReason = 'end_turn' | 'max_tokens' | 'refusal' | 'cancelled';

/** Something that a request could not hold. */
export interface LeftOut {
  /** A URI, or the key of an item of the context. */
  key: string;
  /** Of messages, where it is a run of them. */
  count?: number;
  tokens?: number;
  /**
   * A reason of -32013, `over_budget`, `duplicate` or `cut_to_fit`; of a message whose pictures are omitted `no_vision`,
   * `picture_too_large`, `request_too_large` or `picture_refused`.
   */
  reason: string;
  /** Its priority. */
  score?: number;
}

export interface PromptResult {
  stopReason: StopReason;
  /** Missing only where the prompt was cancelled before it was sent. */
  _meta?: { strata: PromptOutcome };
}

export interface PromptOutcome {
  turnId: string;
  userMessageId: string;
  /** Of the answer. */
  messageId: string;
  usage: Usage;
  /** US dollars. */
  cost: number;
  leftOut?: LeftOut[];
}

/** The present state of a session. Older messages are had from `_strata/history/list` with `nextCursor`. */
export interface Snapshot {
  session: SessionInfo;
  config: Config;
  totals: Totals;
  /** The newest, oldest first. */
  messages: ListedMessage[];
  summary?: Summary;
  nextCursor?: string;
  /** The running turn's answer so far; what of a long one is missing follows as updates. */
  running?: { turnId: string; messageId: string; thought?: string; text: string };
  /** An ending waits to be stored. */
  unsaved?: boolean;
  /** What should be known of the session, for instance that its folder is gone. */
  notices?: string[];
}

export interface AttachResult {
  epoch: string;
  /** The newest event. */
  seq: number;
  /** The running turn. */
  running: string | null;
  /** Whether all events behind `after` follow; otherwise there is a snapshot. */
  complete: boolean;
  snapshot?: Snapshot;
}

export type SessionState = 'loading' | 'idle' | 'running' | 'compacting' | 'closing' | 'closed' | 'deleted';

export interface SessionDetails {
  session: SessionInfo;
  createdAt: Time;
  deletedAt?: Time;
  state: SessionState;
  /** The running turn. */
  running?: string;
  unsaved?: boolean;
  config: Config;
  /** Of the model, in tokens. */
  window: number;
  epoch: string;
  /** Of the newest event. */
  seq: number;
  /** In the transcript. */
  messages: number;
  /** In the working history. */
  inView: number;
  historyTokens: number;
  files: number;
  totals: Totals;
  notices?: string[];
}

/** Lines of a file from 1, both included. */
export interface FileRange {
  start: number;
  end: number;
}

export interface FileInfo {
  /** Relative to the session's folder with forward slashes, absolute in a further root. */
  path: string;
  /** How much the model is shown. */
  state: 'full' | 'partial' | 'summary_only' | 'not_available';
  /** How that came about. */
  reason?: string;
  tokens: number;
  /** SHA-256 of the whole content, hexadecimal. */
  hash: string;
  range?: FileRange;
  /** It leaves after the next reply. */
  once?: boolean;
  lineNumbers?: boolean;
  /** The text is the client's, not the disk's. */
  unsaved?: boolean;
}

export interface DocumentInfo {
  name: string;
  tokens: number;
  /** SHA-256 of its text, hexadecimal. */
  hash: string;
  /** The lowest goes first when the window is full. */
  priority: number;
  /** It never goes. */
  pinned: boolean;
  /** The modes in which it is shown; none for all. */
  phases?: string[];
  /** Of a unit of work, such as `draft` or `approved`. */
  status?: string;
  /** Of a unit among the units, the newest the highest. */
  order?: number;
  /** The file that a unit is in. */
  path?: string;
  bytes: number;
  implementationBytes?: number;
}

/** A test that failed. */
export interface TestFailure {
  name: string;
  error?: string;
  expected?: string;
  received?: string;
  stack?: string;
}

/** What a category has of the budget that the profile gives it. Only the sum of the shares is enforced. */
export interface Share {
  name: string;
  used: number;
  share: number;
}

/** The token budget, in tokens as the provider counts. */
export interface Budget {
  historyTokens: number;
  maxHistoryTokens: number;
  /** The window. */
  maxInputTokens: number;
  /** Where it is false, the window is the default for a model that nobody described. */
  known: boolean;
  reservedOutput: number;
  /** What the next request would hold. */
  used: number;
  remaining: number;
  /** Of the window, rounded down; above 100 it is over. */
  percentUsed: number;
  needsCompaction: boolean;
  /** The provider's own counts were learned from. */
  calibrated: boolean;
  /** From 75 % of the window less `reservedOutput` on. */
  warning?: string;
  /** Where the profile has some. */
  shares?: Share[];
}

export type TierName = 'L0' | 'L1' | 'L2' | 'L3' | 'active';

/** What the next request would hold, in counted tokens. */
export interface Breakdown {
  model: string;
  used: number;
  /** The window. */
  size: number;
  categories: { name: string; tokens: number }[];
  /** Where the profile has some. */
  shares?: Share[];
  tiers: Tier[];
  /** The framing of messages, which belongs to no item. */
  overhead: number;
  /** Of the last reply. */
  changes: TierChange[];
  /** Of the last call. */
  cache: {
    readTokens: number;
    writeTokens: number;
    /** Share of the input that was read, 0 to 1. */
    hitRate: number;
    /** Tokens that were expected to be read. */
    expected: number;
  };
  totals: Totals;
  leftOut: LeftOut[];
  /** `log` or `ripple`. */
  layout: string;
  /** Why the next request would not simply continue the last one. */
  cut?: string;
  /** Tokens that are needed no more and leave at the next cut. */
  dead: number;
}

export interface Tier {
  tier: TierName | (string & {});
  tokens: number;
  /** Of them expected to be read from the cache. */
  cached: number;
  /** N at which an item leaves upward; 0 for L0. */
  threshold: number;
  items: TierItem[];
}

export interface TierItem {
  key: string;
  kind: string;
  tokens: number;
  /** Replies that it did not change in. */
  n: number;
  nextThreshold: number;
  hash: string;
  /** Tokens of it that are needed no more. */
  dead?: number;
  /** All of it leaves at the next cut. */
  leaves?: boolean;
}

/** An item that moved; an empty tier is outside. */
export interface TierChange {
  key: string;
  from: string;
  to: string;
  reason: string;
}

export interface CompactionStatus {
  enabled: boolean;
  strategy: string;
  historyTokens: number;
  triggerTokens: number;
  percentUsed: number;
  /** Two in a row were fruitless: it waits until the history has grown by a quarter. */
  paused: boolean;
  running: boolean;
  /** How the newest one ended, also before the session was loaded; empty for none. */
  lastOutcome: string;
}

export type Strategy = 'topic' | 'rolling' | 'prune' | 'middle' | 'window';

export interface Compaction {
  compactionId: string;
  /** `running` only in the event that tells of its beginning. */
  outcome: 'running' | 'compacted' | 'nothing_to_do' | 'no_gain' | 'failed' | 'cancelled' | 'superseded' | 'interrupted';
  strategy: Strategy | (string & {});
  /** How it was found what to keep. */
  by?: 'model' | 'words';
  /** Tokens of the history before and after it. */
  before: number;
  after: number;
  summary?: string;
  /** Why it failed. */
  reason?: string;
}

export interface Tool {
  name: string;
  description?: string;
  /** A JSON schema of its arguments, an object. */
  inputSchema?: Json;
}

/** A request for a frontend that calls a model itself. */
export interface Assembled {
  /** In the order and with the bytes in which they must be sent to be cached. */
  tools: Tool[];
  messages: { role: 'system' | Role; content: Block[]; /** Counted, with the framing. */ tokens: number }[];
  /** Behind which message (an index) a cache mark belongs, and its lifetime. */
  breakpoints: { message: number; ttl: '5m' | '1h' }[];
  tokens: number;
  left: LeftOut[];
  maxOutput: number;
  model: string;
  /** For `_strata/context/commit`; missing from a preview. */
  assemblyId?: string;
}

export interface SearchHit {
  sessionId: string;
  messageId: string;
  /** Of the message. */
  seq: number;
  role: Role;
  at: Time;
  snippet: string;
  /** What matched in `snippet`: begin and end in bytes of UTF-8. */
  marks: [number, number][];
  score: number;
}

/** A model call. */
export interface Call extends Usage {
  callId: string;
  turnId?: string;
  purpose: string;
  /** `provider/model`. */
  model: string;
  /** US dollars. */
  cost: number;
  /** The provider did not report all of the usage: what is missing was counted. */
  estimated?: boolean;
  /** What it would have cost without a cache, at the model's present price; 0 where that is not known. */
  uncachedCost: number;
  expectedCacheRead: number;
  /** What the request was made of, in counted tokens. */
  categories?: { [category: string]: number };
  /** Counted tokens of its documents, by name. */
  documents?: { [name: string]: number };
  /** Of the profile. */
  phase?: string;
  at: Time;
}

/** Sums over all model calls of a session, with what they would have cost without a cache. */
export interface UsageTotals extends Totals {
  uncachedCost: number;
  expectedCacheRead: number;
}

export interface Checkpoint {
  checkpointId: string;
  seq: number;
  name: string;
  at: Time;
}

/** A change of the view. */
export interface Edit {
  id: string;
  /** Position in the session, which edits share with messages. */
  seq: number;
  kind: 'compact' | 'dedupe' | 'truncate' | 'replace' | 'clear' | 'restore';
  at: Time;
  reason?: string;
  /** Ids of the messages that leave the view; a clear names none. */
  messages?: string[];
  /** Blocks that are shown differently. */
  patches?: { message: string; block: number; part: number; text: string; saved: number; origin?: string }[];
  /** Documents of which only `keep` bytes are shown. */
  documents?: { name: string; version: string; keep?: number }[];
  summary?: string;
  summaryTokens?: number;
  /** Where a restore goes back to. */
  to?: number;
  /** The edit that it takes back. */
  undoes?: string;
  strategy?: string;
  /** Tokens of the working history before and after it. */
  before?: number;
  after?: number;
  savedTokens?: number;
  savedChars?: number;
}

/** An edit in the timeline. */
export interface ListedEdit extends Edit {
  /** The messages that it concerns, by the sequence numbers of the first and the last of each run. */
  ranges?: { from: number; to: number }[];
  inForce: boolean;
}

/** What happens now, or after the turn that runs. */
export type Restored = { seq: number; removed: number } | { afterTurn: string };

export interface Provider {
  name: string;
  kind: string;
  baseUrl?: string;
  /** The variable that a key is read from. */
  keyEnv?: string;
  /** Where its key is from. */
  key: 'not_needed' | 'missing' | 'env' | 'memory';
}

export interface Model {
  /** `provider/model`. */
  name: string;
  title: string;
  /** Tokens. */
  window: number;
  maxOutput: number;
  vision: boolean;
  thoughtLevels: string[];
  /** Where it is false, window and output are the defaults. */
  known: boolean;
}

export interface ServerInfo {
  version: string;
  go: string;
  startedAt: Time;
  /** How an editor connects: through the file, or with the address and the token in the other file. Both are paths. */
  address: { webSocket: string; serverFile?: string; tokenFile?: string };
  /** A path. */
  logFile?: string;
  /** Its sizes are bytes. */
  database: { path: string; bytes: number; walBytes: number; sessions: number; messages: number };
  /** Of sessions that chose none. */
  model: string;
  models: Model[];
  limits: {
    frameBytes: number;
    connections: number;
    requests: number;
    subscriptions: number;
    sessions: number;
    eventsKept: number;
    retentionSeconds: number;
  };
  connections: number;
  sessionsInMemory: number;
}

export interface Counts {
  connections: number;
  sessionsInMemory: number;
  writesWaiting: number;
  repliesWaiting: number;
  databaseBytes: number;
}

/** A line of an export. */
export type TransferLine =
  | { type: 'header'; header: TransferHeader }
  | { type: 'edit'; edit: Edit }
  | { type: 'file'; file: { path: string; state: Json; /** base64 */ buffer?: string } }
  | { type: 'message'; message: Message }
  | { type: 'call'; call: TransferCall };

/** The usage of a call as it is stored. */
export interface TransferCall {
  id: string;
  turnId?: string;
  purpose: string;
  model: string;
  usage: Usage;
  cost: number;
  estimated?: boolean;
  expected: number;
  categories?: { [category: string]: number };
  documents?: { [name: string]: number };
  phase?: string;
  at: Time;
}

export interface TransferHeader {
  format: 'strata-session';
  version: number;
  session: {
    id?: string;
    cwd: string;
    roots?: string[];
    title: string;
    titleByUser?: boolean;
    config: Config;
    createdAt: Time;
    updatedAt: Time;
    messages?: number;
  };
}

interface OfSession {
  sessionId: string;
}

interface Page {
  /** Entries of a page. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

interface Folders {
  /** Absolute; for a stored session its own. */
  cwd: string;
  /** Further roots, absolute. */
  additionalDirectories?: string[];
  /** Servers named here are not used. */
  mcpServers?: Json[];
}

/** The choices of a session, and its phases where its profile has some. */
export interface Options {
  modes?: ModeState;
  configOptions: ConfigOption[];
  /** The turn after which they take effect. */
  _meta?: { strata: { afterTurn: string } };
}

/** `session/new` takes no more than folders. */
export type NewSessionParams = Folders;

export interface OpenSessionParams extends OfSession, Folders {
  /** Chosen for the session on the way in. */
  _meta?: { strata?: { model?: string } };
}

export interface PromptParams extends OfSession {
  prompt: ContentBlock[];
  /** Names the prompt, once in a session: sent again it joins the turn or gets its stored ending. */
  _meta?: { strata?: { promptId?: string } };
}

type Empty = Record<string, never>;

/** Every request with its parameters and its result. */
export interface Methods {
  initialize: { params: InitializeParams; result: InitializeResult };
  authenticate: { params: { methodId?: string }; result: Empty };

  'session/new': { params: NewSessionParams; result: Options & OfSession };
  'session/load': { params: OpenSessionParams; result: Options };
  'session/resume': { params: OpenSessionParams; result: Options };
  /** The newest state as a session of its own. */
  'session/fork': { params: OpenSessionParams; result: Options & OfSession };
  'session/list': {
    params: { /** Only those of this folder. */ cwd?: string; cursor?: string };
    result: { sessions: SessionInfo[]; nextCursor?: string };
  };
  'session/close': { params: OfSession; result: Empty };
  'session/delete': { params: OfSession; result: Empty };
  'session/prompt': { params: PromptParams; result: PromptResult };
  'session/set_mode': {
    params: OfSession & { modeId: string };
    result: { _meta?: { strata: { afterTurn: string } } };
  };
  'session/set_config_option': { params: OfSession & { configId: string; value: string }; result: Options };

  '_strata/session/attach': { params: OfSession & { epoch?: string; after?: number }; result: AttachResult };
  '_strata/session/detach': {
    params: OfSession & { /** From `session/update` as well. */ unsubscribe?: boolean };
    result: Empty;
  };
  '_strata/session/info': { params: OfSession; result: SessionDetails };
  '_strata/session/rename': { params: OfSession & { title: string }; result: SessionInfo };
  '_strata/session/undelete': { params: OfSession; result: SessionInfo };
  '_strata/session/fork': {
    params: OfSession & { /** A sequence number, 0 for before the first message, or the id of a checkpoint. */ at?: number | string };
    result: Options & OfSession & { /** Of the state that it starts with. */ seq: number };
  };
  '_strata/session/export': {
    params: OfSession & { cursor?: string };
    result: { lines: TransferLine[]; nextCursor?: string };
  };
  '_strata/session/import': {
    params: {
      /** From the answer to the first page. */
      importId?: string;
      /** With the first page: another folder than the exported session's. */
      cwd?: string;
      lines: TransferLine[];
      /** This is the last page. */
      done?: boolean;
    };
    result: { importId?: string; /** Once it is complete. */ sessionId?: string };
  };

  '_strata/history/list': {
    params: OfSession & Page;
    result: { /** Oldest first. */ messages: ListedMessage[]; summary?: Summary; /** Of the page before. */ nextCursor?: string };
  };
  '_strata/history/search': {
    params: Page & { query: string; role?: Role; cwd?: string };
    result: { hits: SearchHit[]; nextCursor?: string };
  };
  '_strata/history/append': { params: OfSession & { messages: NewMessage[] }; result: { messageIds: string[] } };
  '_strata/history/replace': {
    params: OfSession & { messages: NewMessage[] };
    result: { seq: number; messageIds: string[] };
  };
  '_strata/history/clear': { params: OfSession; result: { seq: number } | { afterTurn: string } };
  '_strata/history/compact': { params: OfSession & { strategy?: Strategy; /** With `middle`, behind the first pair. */ keep?: 'none' | 'lastTwo' | 'half' | 'quarter' }; result: Compaction };
  '_strata/history/edits': {
    params: OfSession & Page;
    result: { /** Oldest first. */ edits: ListedEdit[]; /** Of the page before. */ nextCursor?: string };
  };

  '_strata/checkpoint/create': { params: OfSession & { name: string }; result: Checkpoint };
  '_strata/checkpoint/list': { params: OfSession; result: { checkpoints: Checkpoint[] } };
  '_strata/checkpoint/delete': { params: OfSession & { checkpointId: string }; result: { removed: boolean } };
  '_strata/checkpoint/restore': {
    params: OfSession & ({ checkpointId: string } | { seq: number } | { beforeMessageId: string });
    result: Restored;
  };
  '_strata/checkpoint/undo': { params: OfSession; result: Restored };

  '_strata/files/add': {
    params: OfSession & {
      path: string;
      /** An unsaved text. */
      content?: string;
      state?: 'full' | 'summary';
      range?: FileRange;
      /** Out again after the next reply. */
      once?: boolean;
      lineNumbers?: boolean;
    };
    result: FileInfo;
  };
  '_strata/files/remove': { params: OfSession & { path: string }; result: { removed: boolean } };
  '_strata/files/clear': { params: OfSession; result: { /** How many. */ removed: number } };
  '_strata/files/list': { params: OfSession; result: { files: FileInfo[] } };
  '_strata/files/content': {
    params: OfSession & { path: string };
    result: { path: string; content: string; hash: string };
  };
  '_strata/files/changed': { params: OfSession & { paths: string[] }; result: { changed: string[] } };
  '_strata/files/check_edit': {
    params: OfSession & { path: string; /** SHA-256 of the version that the edit is for. */ baseHash?: string };
    result: Empty;
  };
  '_strata/workspace/find': {
    params: OfSession & { query: string; limit?: number };
    result: { /** Best first. */ paths: { path: string; score: number }[] };
  };

  '_strata/documents/set': {
    params: OfSession & {
      name: string;
      /** It may be missing beside an implementation or failures. */
      text?: string;
      priority?: number;
      pinned?: boolean;
      phases?: string[];
      status?: string;
      order?: number;
      path?: string;
      /** What was made of a unit of work. */
      implementation?: string;
      /** In the place of a text, of the document `failures`. */
      failures?: TestFailure[];
    };
    result: DocumentInfo;
  };
  '_strata/documents/remove': { params: OfSession & { name: string }; result: { removed: boolean } };
  '_strata/documents/list': { params: OfSession; result: { documents: DocumentInfo[] } };

  '_strata/context/budget': { params: OfSession; result: Budget };
  '_strata/context/breakdown': { params: OfSession; result: Breakdown };
  '_strata/context/report': { params: OfSession; result: { /** Several lines. */ text: string; line: string } };
  '_strata/context/count': {
    params: OfSession & { text?: string; messages?: NewMessage[] };
    result: { tokens: number };
  };
  '_strata/context/compaction': { params: OfSession; result: CompactionStatus };
  '_strata/context/assemble': {
    params: OfSession & { tools?: Tool[]; /** Change nothing, and work while a turn runs. */ preview?: boolean };
    result: Assembled;
  };
  '_strata/context/commit': {
    params: OfSession & { assemblyId?: string; messages?: NewMessage[]; message?: NewMessage; usage?: Usage };
    result: { messageIds: string[]; messageId: string; usage: Usage; cost: number; estimated?: boolean };
  };

  '_strata/usage/list': {
    params: OfSession & Page & { /** Begin with the newest page, in place of the oldest. */ newest?: boolean };
    result: { /** Oldest first. */ calls: Call[]; totals: UsageTotals; nextCursor?: string };
  };

  '_strata/providers/list': { params: Empty; result: { providers: Provider[] } };
  '_strata/providers/set_key': {
    params: { provider: string; /** An empty one takes it back. */ key: string };
    result: Empty;
  };
  '_strata/server/info': { params: Empty; result: ServerInfo };
  '_strata/server/subscribe': { params: Empty; result: { counts: Counts } };
  '_strata/server/hud_code': { params: Empty; result: { /** Good once, for 10 minutes. */ url: string } };
  /** Ends the server when the answer is sent; running turns are kept as far as they have come. */
  '_strata/server/stop': { params: Empty; result: Empty };
  '_strata/debug/quiesce': { params: Empty; result: Empty };
}

export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M]['params'];
export type Result<M extends Method> = Methods[M]['result'];

/** The notifications of clients. */
export interface ClientNotifications {
  'session/cancel': OfSession & { _meta?: { strata?: { /** Must be the running turn's. */ turnId?: string } } };
  '$/cancel_request': { requestId: string | number };
}

/** The notifications of the server. */
export interface ServerNotifications {
  'session/update': UpdateNotification;
  '_strata/event': SessionEventNotification;
  '_strata/server/event': ServerEventNotification;
}

/** Where a notification stands among the events of its session. */
export interface Place {
  /** Changes when the session is loaded anew. */
  epoch: string;
  /** Rises within an epoch. */
  seq: number;
}

export interface UpdateNotification extends OfSession {
  update: Update;
  _meta: {
    strata: {
      epoch: string;
      /** The first of the events that it stands for, where it stands for several. */
      first?: number;
      /** Missing from what is replayed out of the transcript. */
      seq?: number;
      replay?: boolean;
    };
  };
}

/** What a session says to all clients, as the Agent Client Protocol has it. */
export type Update =
  | MessageChunk
  | ToolCall
  | ToolCallUpdate
  | UsageUpdate
  | SessionInfoUpdate
  | ConfigOptionUpdate
  | Notice
  | CurrentModeUpdate
  | CompactionUpdate
  | CompactionSummaryChunk;

/** The next piece of a message. */
export interface MessageChunk {
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';
  content: ContentBlock;
  messageId: string;
}

export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface ToolContent {
  type: 'content';
  content: ContentBlock;
}

export interface ToolCall {
  sessionUpdate: 'tool_call';
  toolCallId: string;
  title: string;
  kind?: string;
  status: ToolStatus;
  rawInput?: Json;
  content?: ToolContent[];
}

export interface ToolCallUpdate {
  sessionUpdate: 'tool_call_update';
  toolCallId: string;
  title?: string;
  kind?: string;
  status?: ToolStatus;
  rawInput?: Json;
  content?: ToolContent[];
}

export interface UsageUpdate {
  sessionUpdate: 'usage_update';
  /** Tokens in the context. */
  used: number;
  /** The model's window, in tokens. */
  size: number;
  /** The session's total. */
  cost: { amount: number; currency: string };
}

export interface SessionInfoUpdate {
  sessionUpdate: 'session_info_update';
  title: string;
  updatedAt: Time;
}

export interface ConfigOptionUpdate {
  sessionUpdate: 'config_option_update';
  configOptions: ConfigOption[];
}

/** Something that the user should know. */
export interface Notice {
  sessionUpdate: 'notice';
  severity: 'warning' | (string & {});
  title: string;
}

export interface CompactionUpdate {
  sessionUpdate: 'compaction_update';
  compactionId: string;
  status: 'in_progress' | 'completed' | 'failed' | 'cancelled';
  /** It replaces all of what was told of it before; empty for none. */
  summary?: ContentBlock[];
  error?: string;
}

/** More of a summary that is being written. What counts is what the last `compaction_update` says. */
export interface CompactionSummaryChunk {
  sessionUpdate: 'compaction_summary_chunk';
  compactionId: string;
  content: ContentBlock;
}

/** The phase in force has changed. */
export interface CurrentModeUpdate {
  sessionUpdate: 'current_mode_update';
  currentModeId: string;
}

/** What only attached clients are told. */
export type StrataEvent =
  | {
      type: 'turn_started';
      turnId: string;
      promptId?: string;
      userMessageId: string;
      /** That the answer will have. */
      messageId: string;
      model: string;
    }
  | {
      type: 'turn_finished';
      turnId: string;
      /** None where there was no answer. */
      messageId?: string;
      status: 'completed' | 'cancelled' | 'failed' | 'interrupted';
      stopReason?: StopReason;
      usage: Usage;
      /** US dollars. */
      cost: number;
      /** The provider did not report all of `usage`: what is missing was counted. */
      estimated?: boolean;
      error?: RpcErrorObject;
    }
  | {
      type: 'context_changed';
      reason: 'append' | 'clear' | 'commit' | 'compaction' | 'document' | 'restore' | 'fitted' | (string & {});
      historyTokens: number;
      /** Position in the transcript. */
      transcriptSeq: number;
    }
  | ({ type: 'compaction' } & Compaction)
  | { type: 'tiers_changed'; turnId?: string; changes: TierChange[] }
  | { type: 'files_changed'; files: FileChange[] }
  | { type: 'left_out'; turnId?: string; leftOut: LeftOut[] }
  | {
      type: 'retrying';
      turnId: string;
      /** The try that failed, from 1. */
      attempt: number;
      /** Tries at most. */
      of: number;
      /** Up to the next try, in milliseconds. */
      delayMs: number;
      /** HTTP status; 0 for a broken connection. */
      status: number;
      reason: string;
    }
  /** With the profile `loop`: what an answer says is done. */
  | { type: 'progress'; turnId?: string; messageId: string; markers: string[] }
  /** With the profile `loop`: an answer says that the goal is reached. `iterations` are all since the last clear. */
  | { type: 'completed'; turnId?: string; messageId: string; iterations: number }
  | { type: 'saved'; turnId: string }
  | { type: 'save_failed'; turnId: string; reason: string }
  | { type: 'config_changed'; config: Config }
  /** Events are gone for this client, which was too slow; a watcher gets a snapshot instead of it. */
  | { type: 'resynced' }
  /** Always the last. */
  | { type: 'closed'; reason: 'closed' | 'deleted' | 'idle' | 'shutdown' | (string & {}) };

export interface FileChange {
  path: string;
  change: 'added' | 'removed' | 'changed' | 'deleted' | 'unreadable';
  reason?: string;
}

/** {@link StrataEvent} with its place. `turnId` is there where it belongs to a turn. */
export type SessionEventNotification = StrataEvent & OfSession & Place & { first?: number; turnId?: string };

/** What a list of all sessions is told. */
export type ServerEventNotification =
  /** Also of an import, or of one that was brought back. */
  | { type: 'created'; sessionId: string; session: SessionInfo }
  | { type: 'renamed'; sessionId: string; session: SessionInfo }
  | { type: 'state'; sessionId: string; state: SessionState }
  | { type: 'deleted'; sessionId: string }
  | { type: 'counts'; counts: Counts }
  /** So much waited that the list has to be asked for anew. */
  | { type: 'reset' };
