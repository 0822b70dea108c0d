/**
 * The protocol as types: each method with its parameters and result, each update of a session, each event, and the
 * error codes. `docs/protocol.md` describes them and has an example of each; a test compiles the examples
 * against this file.
 *
 * Times are RFC 3339 in UTC, token counts are integers, costs are US dollars, sizes are bytes. A field that is
 * optional here is omitted if it does not apply.
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
  /** The provider of an authentication method has no API key. */
  authRequired: -32000,
  /** Not found; `data: {kind, id}`. */
  notFound: -32002,
  /** A turn is running, or too many requests are queued; `data: {turnId}` for a turn. */
  busy: -32010,
  /** The message exceeds the model's window; `data: {tokens, limit}`. */
  overBudget: -32011,
  /** The provider failed; its data is a `ProviderFailure`. */
  provider: -32012,
  /** A path was refused; `data: {path, reason}`. */
  refusedPath: -32013,
  /** A file may not be patched; `data: {path, reason}`. */
  editRefused: -32014,
  /** Storing failed; `data: {reason}`. */
  storage: -32015,
} as const;

/**
 * An error in a response, also stored with a failed turn: `code` tells the type of `data`, which is missing if there is
 * nothing to report. A later server may send codes that are not in this type.
 */
export type RpcErrorObject =
  | ErrorObject<typeof ErrorCode.parse | typeof ErrorCode.methodNotFound | typeof ErrorCode.invalidParams, undefined>
  | ErrorObject<typeof ErrorCode.internal | typeof ErrorCode.cancelled | typeof ErrorCode.authRequired, undefined>
  | ErrorObject<typeof ErrorCode.invalidRequest, { /** In flight already. */ id?: Json; /** Of this connection. */ limit?: number }>
  | ErrorObject<typeof ErrorCode.notFound, MissingEntity>
  | ErrorObject<typeof ErrorCode.busy, { /** The running turn. */ turnId?: string; /** The maximum number of sessions in memory. */ limit?: number }>
  | ErrorObject<typeof ErrorCode.overBudget, { /** Of the message, its required files and the system prompt. */ tokens: number; limit: number }>
  | ErrorObject<typeof ErrorCode.provider, ProviderFailure>
  | ErrorObject<typeof ErrorCode.refusedPath, { path: string; reason: PathReason }>
  | ErrorObject<typeof ErrorCode.editRefused, { path: string; reason: EditReason }>
  | ErrorObject<typeof ErrorCode.storage, { /** For the user. */ reason: string }>;

interface ErrorObject<Code extends number, Data> {
  code: Code;
  message: string;
  data?: Data;
}

/** The data of an error with code -32002. */
export interface MissingEntity {
  kind: 'session' | 'file' | 'message' | 'checkpoint' | 'provider' | (string & {});
  id: string;
}

/** Why a path was refused. */
export type PathReason =
  | 'bad_path'
  | 'bad_uri'
  | 'outside'
  | 'replaced'
  | 'own'
  | 'secret'
  | 'missing'
  | 'directory'
  | 'not_regular'
  | 'unreadable'
  | 'too_large'
  | 'binary'
  | 'encoding'
  | 'range'
  | 'no_room'
  | 'not_a_file'
  | 'folder_missing'
  | 'away'
  | (string & {});

/** Why a file may not be edited. */
export type EditReason = 'not_available' | 'summary_only' | 'stale' | 'encoding' | (string & {});

/** The name and version of a program. */
export interface Implementation {
  name: string;
  title?: string;
  version: string;
}

/** Optional capabilities of a client. */
export interface ClientCapabilities {
  session?: {
    /** Notices to the user: without it no `notice` is sent. */
    notices?: object;
    /** Progress of compactions: without it neither `compaction_update` nor `compaction_summary_chunk` is sent. */
    compaction?: object;
  };
  /** The requests of the server that the client serves, see {@link ServerRequests}. */
  fs?: { readTextFile?: boolean; writeTextFile?: boolean };
  terminal?: boolean;
  /**
   * `permission`: the client serves `session/request_permission`. `workspace`: it has the files of sessions with the workspace
   * `client`, and serves `_strata/workspace/list`, `delete` and `move` beside the requests of `fs`.
   */
  _meta?: { strata?: { permission?: boolean; workspace?: boolean } };
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
        /** The supported extension methods. */
        methods: string[];
        /** The notifications sent in addition to `session/update`. */
        notifications: string[];
        /** Older servers do not report it. */
        limits?: { /** The size of the largest frame that the server reads. */ frameBytes: number };
      };
    };
  };
  agentInfo: Implementation;
  authMethods: AuthMethod[];
}

/** A way to give a provider its API key. */
export interface AuthMethod {
  id: string;
  name: string;
  description: string;
  /** Run the agent's command with `args` in a terminal. */
  type?: 'terminal';
  args?: string[];
}

/** The id of a config option. The session's model and profile determine which exist. */
export type ConfigId = 'model' | 'thought_level' | 'profile' | 'compaction' | 'mode' | 'approval';

/** A config option of a session. */
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

/** The phases of a session's profile; without phases the values of `approval`. */
export interface ModeState {
  currentModeId: string;
  availableModes: Mode[];
}

export interface Mode {
  id: string;
  name: string;
  description?: string;
}

/** The current settings. */
export interface Config {
  /** `provider/model`. */
  model?: string;
  thoughtLevel?: string;
  profile?: string;
  mode?: string;
  /** The compaction strategy. */
  compaction?: string;
  /** What the model may do without asking: `read-only`, `ask`, `edits` or `auto`. */
  approval?: string;
}

export interface SessionInfo {
  sessionId: string;
  /** The session's folder, absolute. */
  cwd: string;
  /** Additional roots, absolute. */
  additionalDirectories?: string[];
  title?: string;
  updatedAt: Time;
  _meta?: {
    strata?: {
      /** In a list, for active sessions. */
      state?: SessionState;
      /** Missing for idle. */
      activity?: Activity;
      /** The path of the folder without links, if it differs from `cwd`. Sessions with the same one share a folder. */
      folder?: string;
      /** The folder does not exist any more. */
      folderMissing?: boolean;
      /** `client`: the files are those of a client, and `cwd` is only their name. */
      workspace?: 'client';
      /** Identifies the files, for several clients with the same folder name. At most 256 bytes. */
      workspaceId?: string;
    };
    [key: string]: Json | undefined;
  };
}

/** Tokens of a model call. The three input numbers add up to the whole input. */
export interface Usage {
  /** Neither read from nor written to a cache. */
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
  /** `allow` adds the file even if it looks like a secret; `required` refuses the prompt if the file cannot be added. */
  | { type: 'resource_link'; uri: string; name?: string; mimeType?: string; _meta?: { strata: { allow?: boolean; required?: boolean } } }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; /** base64 */ blob?: string } };

export type Role = 'user' | 'assistant' | 'tool';

/** A block of a stored message. */
export type Block =
  | TextBlock
  | ImageBlock
  /** `signature` is the provider's signature. */
  | { type: 'thinking'; text?: string; signature?: string }
  /** A link that is not resolved. */
  | { type: 'resource_link'; uri: string; name?: string; mimeType?: string }
  /** Text embedded by the client. */
  | { type: 'resource'; uri: string; text?: string; mimeType?: string }
  /** `args` is JSON unless `incomplete`: then it is truncated, and the call must not be executed. */
  | { type: 'tool_call'; callId: string; name: string; args?: string; incomplete?: boolean; signature?: string }
  | { type: 'tool_result'; callId: string; content?: (TextBlock | ImageBlock)[]; isError?: boolean; call?: CallShown };

export interface TextBlock {
  type: 'text';
  text?: string;
}

/** An image: base64, and its size in pixels if known. */
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
  /** Sequence number in the session, shared by messages and edits, from 1. Events have their own. */
  seq: number;
  /** The turn of the message; missing for appended messages. */
  turnId?: string;
  role: Role;
  blocks: Block[];
  /** Counted once, when the message was stored. */
  tokens: number;
  at: Time;
  /** The author, as `provider/model`. */
  model?: string;
  status?: MessageStatus;
  /** Attached by the client. */
  meta?: Json | MessageMeta;
}

/** The known fields that a client may attach to a message: the progress made by a reply. */
export interface MessageMeta {
  /** Assigned by the client, 0 or more. */
  progressScore?: number;
  /** Completed work. */
  progressMarkers?: string[];
  /** Paths of changed files. */
  fileChanges?: string[];
  durationSeconds?: number;
  /** The name of the tool used. */
  tool?: string;
  [other: string]: Json | undefined;
}

/** The summary that replaces compacted messages in the working history. */
export interface Summary {
  /** The id of the newest compaction. */
  editId: string;
  text: string;
  tokens: number;
  /** The number of messages that it replaces. */
  messages: number;
}

/** How the view changes a message. */
export interface MessageView {
  /** Why the message is not in view; missing if it is. */
  state?: 'summarised' | 'left_out' | 'cleared' | 'replaced' | 'taken_back' | 'unanswered' | 'unfinished' | 'taken_out';
  /** The edit that removed it. */
  editId?: string;
  /** Changed blocks, in the order of the edits. */
  patches?: MessagePatch[];
  /** A user keeps it: it is neither evicted nor compacted. */
  kept?: boolean;
}

export interface MessagePatch {
  /** Index in the message's blocks. */
  block: number;
  /** Index in the content of a tool result, otherwise 0. */
  part: number;
  /** The replacement text. */
  text: string;
  /** Tokens. */
  saved: number;
  state: 'duplicate' | 'shortened';
}

/** How the newest turn of a prompt ended, if not with a complete reply. */
export interface TurnEnd {
  turnId: string;
  /** `interrupted`: the server stopped. */
  status: 'failed' | 'cancelled' | 'interrupted';
  /** The data of an error with code -32012 is a `ProviderFailure`. */
  error?: RpcErrorObject;
}

/** The data of an error with code -32012. */
export interface ProviderFailure {
  /** The HTTP status, 0 if unknown. */
  status: number;
  retryAfterMs?: number;
  /** A part of the reply was shown. */
  partial: boolean;
  /** The provider's name in the configuration. */
  provider?: string;
  /** `auth`: the provider has no valid key. */
  kind?: 'auth' | 'quota' | 'rate' | 'overloaded' | 'invalid' | 'context' | 'picture' | 'network' | 'truncated' | 'cancelled' | 'unknown';
  /** Number of attempts, all of which failed. */
  attempts?: number;
}

/** A message with its visibility. */
export interface ListedMessage extends Message {
  view?: MessageView;
  /** Set for a prompt without a complete reply. */
  ended?: TurnEnd;
  /** Whether the message is in the working history, which is shown to the model. */
  inView: boolean;
}

/** A message appended by a client. */
export interface NewMessage {
  role: Role;
  content: string | Block[];
  /** The client's own. */
  meta?: Json | MessageMeta;
}

/** `max_turn_requests`: the turn had the maximum number of steps. */
export type StopReason = 'end_turn' | 'max_tokens' | 'refusal' | 'cancelled' | 'max_turn_requests';

/** An item omitted from a request. */
export interface LeftOut {
  /** A URI, or the key of an item of the context. */
  key: string;
  /** The range, if the item is a range of messages. */
  count?: number;
  tokens?: number;
  /**
   * A reason of -32013, `over_budget`, `duplicate` or `cut_to_fit`; for a message with omitted images `no_vision`,
   * `picture_too_large`, `request_too_large` or `picture_refused`.
   */
  reason: string;
  /** Its priority. */
  score?: number;
}

export interface PromptResult {
  stopReason: StopReason;
  /** The slash command, if the prompt was one that is no turn. */
  command?: string;
  /** Missing for such a command, and if the prompt was cancelled before it was sent. */
  _meta?: { strata: PromptOutcome };
}

/** The result of a prompt with a slash command that is no turn, as the server sends it. */
export interface CommandResult {
  stopReason: StopReason;
  _meta: { strata: { command: string } };
}

export interface PromptOutcome {
  turnId: string;
  userMessageId: string;
  /** The id of the last message of the reply. Missing if the turn ended before the model said anything. */
  messageId?: string;
  /** `interrupted`: the server stopped. ACP's `stopReason` is then `cancelled`. */
  status: 'completed' | 'cancelled' | 'interrupted';
  usage: Usage;
  /** US dollars. */
  cost: number;
  leftOut?: LeftOut[];
}

/** The current state of a session. `_strata/history/list` returns older messages for `nextCursor`. */
export interface Snapshot {
  session: SessionInfo;
  config: Config;
  totals: Totals;
  /** The newest messages, oldest first. */
  messages: ListedMessage[];
  summary?: Summary;
  nextCursor?: string;
  /** The message of the running turn's newest step so far; the rest of a long one follows as updates. */
  running?: { turnId: string; messageId: string; thought?: string; text: string; /** Time since the turn began. */ elapsedMs: number };
  /** The id of the running compaction. */
  compacting?: string;
  /** The result of a turn is not stored yet. */
  unsaved?: boolean;
  /** Notices on the session, for example that its folder is missing. */
  notices?: string[];
}

export interface AttachResult {
  epoch: string;
  /** The sequence number of the newest event. */
  seq: number;
  /** The id of the running turn. */
  running: string | null;
  /** Whether all events after `after` follow; otherwise there is a snapshot. */
  complete: boolean;
  snapshot?: Snapshot;
}

export type SessionState = 'loading' | 'idle' | 'running' | 'compacting' | 'closing' | 'closed' | 'deleted';

export interface SessionDetails {
  session: SessionInfo;
  createdAt: Time;
  deletedAt?: Time;
  state: SessionState;
  /** The id of the running turn. */
  running?: string;
  unsaved?: boolean;
  config: Config;
  /** The model's window, in tokens. */
  window: number;
  epoch: string;
  /** The sequence number of the newest event. */
  seq: number;
  /** The number of messages in the transcript. */
  messages: number;
  /** The number of messages in the working history. */
  inView: number;
  historyTokens: number;
  files: number;
  totals: Totals;
  notices?: string[];
}

/** A range of lines from 1, inclusive. */
export interface FileRange {
  start: number;
  end: number;
}

export interface FileInfo {
  /** Relative to the session's folder, with forward slashes; absolute in additional roots. */
  path: string;
  /** How much is shown to the model. */
  state: 'full' | 'partial' | 'summary_only' | 'not_available';
  /** The reason for the state. */
  reason?: string;
  tokens: number;
  /** SHA-256 of the whole content, in hex. */
  hash: string;
  range?: FileRange;
  /** Removed after the next reply. */
  once?: boolean;
  /** Never evicted. */
  pinned?: boolean;
  lineNumbers?: boolean;
  /** The text is the client's unsaved text. */
  unsaved?: boolean;
  /** A tool read the file, and nobody added it. Its tokens are those of messages. */
  read?: boolean;
}

/** A definition in a file. */
export interface OutlineSymbol {
  name: string;
  kind: string;
  signature: string;
  /** The first and the last line, from 1. */
  line: number;
  endLine: number;
  /** The number of definitions around it. */
  depth: number;
}

/** The outline of a file as the file is now, and how much of the file is shown to the model. */
export interface Outline {
  path: string;
  state: FileInfo['state'];
  /** The reason for the state. */
  reason?: string;
  /** SHA-256 of the whole content, in hex. */
  hash: string;
  /** Empty for a file without an outline. */
  language: string;
  /** The file has syntax errors, or the outline exceeds a limit: something is missing. */
  partial?: boolean;
  imports: { path: string; line: number }[];
  symbols: OutlineSymbol[];
  /** The outline as a request would contain it, without abbreviations. */
  text: string;
  /** The tokens of `text`. */
  tokens: number;
}

/** A symbol or a file that a search found. */
export interface OutlineHit {
  path: string;
  /** The name of the symbol; for a file the last part of its path. */
  name: string;
  /** The kind of the symbol, or `file`. */
  kind: 'file' | (string & {});
  /** From 1; missing for a file. */
  line?: number;
  /** Higher is better. */
  score: number;
}

/** The progress of the index of the session's folder. */
export interface IndexStatus {
  /** All files that can have an outline are read. */
  complete: boolean;
  /** The number of listed files. */
  files: number;
  /** The number of files with an outline. */
  outlined: number;
  /** The number of files that are still to be read. */
  pending: number;
  /** Files that the index lacks, and why, one fact each. */
  omissions?: string[];
  /** Why the folder cannot be indexed now. */
  problem?: string;
}

export interface DocumentInfo {
  name: string;
  tokens: number;
  /** SHA-256 of the text, in hex. */
  hash: string;
  /** The lowest is evicted first when the window is full. */
  priority: number;
  /** Never evicted. */
  pinned: boolean;
  /** The modes in which it is shown; missing for all. */
  phases?: string[];
  /** The status of a unit of work, such as `draft` or `approved`. */
  status?: string;
  /** The order of a unit among the units; the newest has the highest. */
  order?: number;
  /** The file that contains a unit. */
  path?: string;
  bytes: number;
  implementationBytes?: number;
}

/** A failed test. */
export interface TestFailure {
  name: string;
  error?: string;
  expected?: string;
  received?: string;
  stack?: string;
}

/** A category's use of its budget in the profile. Only the sum of the budgets is enforced. */
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
  /** If false, the model is unknown and the window is a default. */
  known: boolean;
  reservedOutput: number;
  /** The size of the next request. */
  used: number;
  remaining: number;
  /** Percentage of the window, rounded down; above 100 the window is exceeded. */
  percentUsed: number;
  needsCompaction: boolean;
  /** Whether counts are calibrated with the provider's reports. */
  calibrated: boolean;
  /** Set from 75 % of the window less `reservedOutput` on. */
  warning?: string;
  /** If the profile has budgets. */
  shares?: Share[];
}

/** A prompt that is not sent, and the request that it would be sent with, in tokens as the provider counts. */
export interface DraftFigures {
  /** Tokens that the prompt adds, with the files that it attaches. */
  tokens: number;
  /** The size of the request. */
  used: number;
  remaining: number;
  /** Percentage of the window, rounded down. */
  percentUsed: number;
  /** The window. */
  maxInputTokens: number;
  /** Items that this prompt evicts; at most 100 are named. */
  evicts: LeftOut[];
  /** Items that this prompt truncates; at most 100 are named. */
  truncates: LeftOut[];
  /**
   * The compaction that the prompt causes: `before` the request, without a model, because it does not fit otherwise, or
   * `after` the reply. `messages` and `saved` tokens are those of one before.
   */
  compacts?: { when: 'before' | 'after'; messages?: number; saved?: number };
  /** Files and addresses of the prompt that are not read. */
  unread: LeftOut[];
  /** Tokens of the request that are expected in the provider's cache. */
  expectedRead: number;
  /** Cost of the input in US dollars, as expected and if nothing is cached; missing if the model has no price. */
  cost?: { input: number; cold: number };
  /** The request, if it was asked for. */
  request?: Assembled;
  /** Set if the prompt would be refused. `used` is then the size of the prompt with the system prompt and required files. */
  tooLarge?: { tokens: number; limit: number };
}

/** What a user can do with a message of the view. */
export type Arrangement = 'keep' | 'release' | 'take_out';

/** What `_strata/context/find` looks for: one of these, and optionally a text in it. */
export type Sought = ({ messageId: string } | { path: string } | { key: string }) & { text?: string };

/** How the next request contains something. */
export interface Located {
  /** The key of its item. */
  key: string;
  state: 'whole' | 'shortened' | 'summarised' | 'evicted' | 'not_in';
  /** Why it is not whole. */
  rule?: string;
  /** A user keeps it: it is neither evicted nor compacted. */
  kept?: boolean;
  /** The state begins with the next request. */
  next?: boolean;
  /** The edit that caused the state. */
  editId?: string;
  /** The time of the change, and the first call after it. */
  since?: { at?: string; callId?: string; callAt?: string };
  tokens: number;
  tier?: TierName | (string & {});
  /** All of it is expected in the provider's cache. */
  cached: boolean;
  /** Where the text is: in what was looked for, or only in something else. */
  text?: { here: boolean; elsewhere: boolean };
  actions: (Arrangement | 'add' | 'remove' | (string & {}))[];
}

export type TierName = 'L0' | 'L1' | 'L2' | 'L3' | 'active';

/** How long the provider's cache stays warm for the next request (without a new prompt), what that costs, and past events. */
export interface CacheOutlook {
  /** `automatic`: the provider reports no lifetime, and an hour is assumed. `unseen`: no call so far has read the expected tokens. */
  caching: 'marked' | 'automatic' | 'unseen' | 'none';
  /** The lifetime after the last use. */
  ttlMs?: number;
  /** Time until `expectedCacheRead` is forgotten, from the response on; missing if nothing is expected to be read. */
  warmMs?: number;
  /** In the provider's tokens. */
  expectedCacheRead: number;
  /** The input of the next request if it is sent now. */
  now: InputCost;
  /** The same after `warmMs`. */
  cold?: InputCost;
  /** Oldest first. */
  marks: CacheMark[];
}

/** The input of a request, in the provider's tokens. */
export interface InputCost {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars; missing if the price is unknown. */
  cost?: number;
}

/** A moment at which the cache lost a part of the next request, or can have lost one. */
export interface CacheMark {
  at: Time;
  kind: 'expiry' | 'compaction' | 'edit';
  editId?: string;
  /** The kind of the edit. */
  edit?: ListedEdit['kind'];
  /** Of a compaction. */
  strategy?: string;
}

/** The contents of the next request, in counted tokens. */
export interface Breakdown {
  model: string;
  used: number;
  /** The window. */
  size: number;
  categories: { name: string; tokens: number }[];
  /** If the profile has budgets. */
  shares?: Share[];
  tiers: Tier[];
  /** The framing of messages, which is not part of an item. */
  overhead: number;
  /** Changes at the last reply. */
  changes: TierChange[];
  /** The cache use of the last call. */
  cache: {
    readTokens: number;
    writeTokens: number;
    /** Share of the input read from the cache, 0 to 1. */
    hitRate: number;
    /** Tokens expected to be read. */
    expected: number;
  };
  totals: Totals;
  leftOut: LeftOut[];
  /** `log` or `ripple`. */
  layout: string;
  /** Why the next request does not only append to the last one. */
  cut?: string;
  /** Unused tokens, removed at the next rebuild. */
  dead: number;
  /** The index of the session's folder; missing without one. */
  index?: IndexStatus;
}

export interface Tier {
  tier: TierName | (string & {});
  tokens: number;
  /** Tokens expected to be read from the cache. */
  cached: number;
  /** N at which an item moves up; 0 for L0. */
  threshold: number;
  items: TierItem[];
}

export interface TierItem {
  key: string;
  kind: string;
  tokens: number;
  /** The number of replies for which it has been unchanged. */
  n: number;
  nextThreshold: number;
  hash: string;
  /** Unused tokens of the item. */
  dead?: number;
  /** The whole item is unused and removed at the next rebuild. */
  leaves?: boolean;
}

/** An item that moved between tiers; an empty tier means that it was added or removed. */
export interface TierChange {
  key: string;
  from: string;
  to: string;
  reason: string;
}

export interface CompactionStatus {
  enabled: boolean;
  strategy: string;
  /** The provider's tokens. */
  historyTokens: number;
  /** The provider's tokens; 0 if the strategy counts another unit. */
  triggerTokens: number;
  /** The unit that the strategy counts; empty without automatic compaction. */
  unit: '' | 'tokens' | 'steps' | 'iterations';
  /** The size of the history, in the unit. */
  size: number;
  /** The size at which a compaction is due, in the unit; 0 for none. */
  trigger: number;
  /** The size in percent of the trigger; at least 100 exactly if a compaction is due. */
  percentUsed: number;
  /** A compaction is due. */
  needsCompaction: boolean;
  /** Why a compaction that is due has not started; empty otherwise. */
  waitsFor: '' | 'turn' | 'tool_results' | 'growth' | 'more_history' | 'reply';
  /** Two compactions in a row had no effect: automatic compaction waits until the history has grown by a quarter. */
  paused: boolean;
  running: boolean;
  /** The result of the newest compaction, including earlier loads of the session; empty for none. */
  lastOutcome: string;
}

export type Strategy = 'topic' | 'rolling' | 'prune' | 'middle' | 'window';

export interface Compaction {
  compactionId: string;
  /** `running` only in the event for the start. */
  outcome: 'running' | 'compacted' | 'nothing_to_do' | 'no_gain' | 'failed' | 'cancelled' | 'superseded' | 'interrupted';
  strategy: Strategy | (string & {});
  /** How the kept part was determined. */
  by?: 'model' | 'words';
  /** Tokens of the history before and after. */
  before: number;
  after: number;
  /** The sequence number of the edit, if the history was compacted. */
  editSeq?: number;
  summary?: string;
  /** Why messages left the view, and what failed. */
  reason?: string;
}

export interface Tool {
  name: string;
  description?: string;
  /** A JSON schema for the arguments, an object. */
  inputSchema?: Json;
}

/** A request for a frontend that calls the model itself. */
export interface Assembled {
  /** Must be sent in this order, byte for byte, to be cached. */
  tools: Tool[];
  messages: { role: 'system' | Role; content: Block[]; /** Counted tokens, including the framing. */ tokens: number }[];
  /** The index of the message after which a cache mark belongs, and the lifetime of the mark. */
  breakpoints: { message: number; ttl: '5m' | '1h' }[];
  tokens: number;
  left: LeftOut[];
  maxOutput: number;
  model: string;
  /** For `_strata/context/commit`; missing in a preview. */
  assemblyId?: string;
}

export interface SearchHit {
  sessionId: string;
  /** The title of the session, "" for none. */
  title: string;
  messageId: string;
  /** The sequence number of the message. */
  seq: number;
  role: Role;
  at: Time;
  snippet: string;
  /** The matches in `snippet`: start and end in bytes of UTF-8. */
  marks: [number, number][];
  score: number;
  /** Number of copies of the message, in forks and imports. */
  copies?: number;
}

/** A session that was found by its title or folder. Marks are the matches: start and end in bytes of UTF-8. */
export interface FoundSession {
  sessionId: string;
  /** "" for none. */
  title: string;
  cwd: string;
  updatedAt: Time;
  titleMarks: [number, number][];
  cwdMarks: [number, number][];
}

/** A block of a message that contains a text. */
export interface FoundPlace {
  messageId: string;
  /** The sequence number of the message. */
  seq: number;
  role: Role;
  /** The type of the block. */
  type: Block['type'];
  /** Index into the message's blocks. */
  block: number;
  /** Index into the content of a tool's result, otherwise 0. */
  part: number;
  /** How often it contains the text. */
  count: number;
}

/** Limits a search to the sessions of one folder: `cwd`, or `folder` with those below it. */
interface FolderScope {
  cwd?: string;
  folder?: string;
}

/** A model call. */
export interface Call extends Usage {
  callId: string;
  turnId?: string;
  /** Of the turn, from 1. */
  step?: number;
  purpose: string;
  /** `provider/model`. */
  model: string;
  /** US dollars. */
  cost: number;
  /** The provider did not report the whole usage: the missing part was counted. */
  estimated?: boolean;
  /** The cost without a cache, at the model's current price; 0 if unknown. */
  uncachedCost: number;
  expectedCacheRead: number;
  /** The contents of the request, in counted tokens. */
  categories?: { [category: string]: number };
  /** Counted tokens of the documents, by name. */
  documents?: { [name: string]: number };
  /** The phase of the profile. */
  phase?: string;
  at: Time;
  status: CallStatus;
  /** Requests that were sent for the call, retries included. */
  attempts: number;
  /** Why the call failed or was stopped; missing if its user stopped it. */
  error?: RpcErrorObject;
  /** From sending the first request to the end; 0 is not known. */
  durationMs: number;
  /** From sending the first request to the first part of the reply; 0 is not known. */
  firstTokenMs: number;
}

/** How a model call ended. */
export type CallStatus = 'complete' | 'stopped' | 'failed';

/** The call that sent a request. */
export interface RequestCall extends Usage {
  callId: string;
  turnId?: string;
  /** Of the turn, from 1. */
  step?: number;
  purpose: string;
  /** `provider/model`. */
  model: string;
  /** US dollars. */
  cost: number;
  estimated?: boolean;
  status: CallStatus;
  expectedCacheRead: number;
  at: Time;
}

/** A request as it was sent. The counted tokens of the items and the overhead come to `tokens`. */
export interface SentRequest {
  /** Of the reply. */
  messageId?: string;
  layout: string;
  /** Why the request did not only continue the previous one. */
  cut?: string;
  tokens: number;
  overhead: number;
  items: SentItem[];
  leftOut: LeftOut[];
}

/** An item of a request. Several items can have the same key: the text of a file and its changes. */
export interface SentItem {
  key: string;
  kind: string;
  /** Of the bytes that were sent; of an unchanged message, its id. */
  hash: string;
  tokens: number;
  tier: string;
  n: number;
  /** A cache breakpoint follows. */
  mark?: boolean;
  /** Sent, but no longer needed. */
  dead?: boolean;
  /** Why a file was shown as it was. */
  reason?: string;
  /** Why the item changed its tier, or its content. */
  moved?: string;
  /** What the request omitted of the item. */
  shortened?: { tokens: number; reason: string };
}

/** Why a request is not kept. */
export type NotKept = 'purpose' | 'expired' | 'interrupted' | 'not_kept' | 'first';

/** An item in one of two requests. */
export interface Place {
  index: number;
  tokens: number;
  tier: string;
  n: number;
  hash: string;
  mark?: boolean;
  dead?: boolean;
}

export type ItemChange = 'same' | 'added' | 'removed' | 'changed' | 'moved' | 'shortened';

/** An item of either of two requests, or the same item of both. */
export interface ComparedItem {
  change: ItemChange;
  key: string;
  kind: string;
  /** Absent if the earlier request does not contain the item. */
  before?: Place;
  /** Absent if the later request does not contain the item. */
  after?: Place;
  reason?: string;
  /** The edit of the view by which the item left or came. */
  editId?: string;
}

/** The difference between an earlier and a later request. */
export interface RequestComparison {
  kept: true;
  call: RequestCall;
  with: RequestCall;
  /** The items at the start that are the same in both. */
  prefix: { items: number; tokens: number };
  /** Where the cache of the earlier request ends; absent if the later one only continues it. */
  firstChange?: { key: string; kind: string; change: ItemChange; reason: string };
  /** Counted tokens of the later request after the prefix. */
  afterTokens: number;
  /** The part of `afterTokens` that the earlier request contained, too. */
  resentTokens: number;
  /** The input that the provider did not read from its cache; `cost` is the cost above that of a cache read, in US dollars. */
  anew: { tokens: number; cost: number; basis: 'reported' | 'counted' };
  rows: ComparedItem[];
}

/** Sums over all model calls of a session, with the cost without a cache. */
export interface UsageTotals extends Totals {
  uncachedCost: number;
  expectedCacheRead: number;
  /** Calls that were stopped, and that failed. `calls` includes them. */
  stopped: number;
  failed: number;
}

/** Sums over model calls of all sessions. */
export interface Spent extends UsageTotals {
  /** Share of the input that was read from the cache, 0 to 1. */
  hitRate: number;
  /** Calls whose price is unknown: `cost` counts them as 0. */
  unpriced: number;
}

/** A calendar day. */
export interface SpentDay extends Spent {
  /** `2006-01-02`. */
  date: string;
  /** The beginning of the day. */
  since: Time;
}

export interface SpentModel extends Spent {
  /** `provider/model`; empty for the sum of `others`. */
  model: string;
  others?: number;
}

export interface SpentFolder extends Spent {
  /** The path without links; empty for the sum of `others`. */
  folder: string;
  others?: number;
}

export interface SpentSession extends Spent {
  sessionId: string;
  title?: string;
  folder: string;
  /** It can be undeleted. */
  deleted?: boolean;
}

/** The activity of a session, in more detail than its state. */
export type Activity = {
  /** `waiting` for the model; `calling`: a tool call runs; `asking`: the user has to decide whether a call may run. */
  kind: 'waiting' | 'thinking' | 'answering' | 'calling' | 'asking' | 'compacting';
  /** Of the call. */
  title?: string;
  since: Time;
};

/** A budget of the configuration. It warns; it never blocks a prompt. */
export interface BudgetState {
  name: string;
  /** Whose sessions count, and those of the folders below it; missing: all. */
  folder?: string;
  per: 'day' | 'month';
  /** The current period. */
  since: Time;
  until: Time;
  /** US dollars. */
  limit: number;
  warnPercent: number;
  /** US dollars. */
  spent: number;
  /** Calls whose price is unknown: `spent` counts them as 0. */
  unpriced: number;
  state: 'ok' | 'near' | 'over';
}

/** The model calls of all sessions. The sums of days, models and folders are the totals. */
export interface Overview {
  since: Time;
  until: Time;
  totals: Spent;
  /** Oldest first, also those without calls. */
  days: SpentDay[];
  /** Highest cost first. */
  models: SpentModel[];
  folders: SpentFolder[];
  /** The ten with the highest cost, highest first. */
  sessions: SpentSession[];
  budgets: BudgetState[];
}

export interface Checkpoint {
  checkpointId: string;
  seq: number;
  name: string;
  at: Time;
}

/** A stored change of the view. */
export interface Edit {
  id: string;
  /** Sequence number in the session, shared by edits and messages. */
  seq: number;
  kind: 'compact' | 'dedupe' | 'truncate' | 'replace' | 'clear' | 'restore' | 'unanswered' | 'resume' | 'result' | 'keep' | 'release' | 'take_out';
  /** Of a `result`: the message with the calls. */
  callsMessage?: string;
  at: Time;
  reason?: string;
  /** Ids of the messages removed from the view; missing for a clear. */
  messages?: string[];
  /** Changed blocks. */
  patches?: { message: string; block: number; part: number; text: string; saved: number; origin?: string }[];
  /** Documents truncated to `keep` bytes. */
  documents?: { name: string; version: string; keep?: number }[];
  summary?: string;
  summaryTokens?: number;
  /** The target of a restore. */
  to?: number;
  /** The undone edit. */
  undoes?: string;
  strategy?: string;
  /** Tokens of the working history before and after. */
  before?: number;
  after?: number;
  savedTokens?: number;
  savedChars?: number;
}

/** An edit in the timeline. */
export interface ListedEdit extends Edit {
  /** The affected messages as ranges of sequence numbers. */
  ranges?: { from: number; to: number }[];
  inForce: boolean;
}

/** Whether a change takes effect now or after the running turn. The files are those that are put back, if that was asked for. */
export type Restored = ({ seq: number; removed: number } & Partial<RestoredFiles>) | { afterTurn: string };

/** What becomes of files, or would become of them in a preview. */
export interface RestoredFiles {
  /** Those that stay as they are come first. */
  files: RestoredFile[];
  /** The number of files that have no room in the list. */
  omitted?: number;
  /** What this does not cover. */
  note?: string;
}

export interface RestoredFile {
  /** Absolute. */
  path: string;
  /** Of a file that is moved. */
  to?: string;
  /** `unchanged`: it was already as it should become. With `conflict` and `unavailable` the file stays as it is. */
  outcome: 'restored' | 'unchanged' | 'conflict' | 'unavailable';
  /** Of a file that is put back. */
  change?: 'put_back' | 'created' | 'deleted' | 'moved';
  /** Of a conflict. */
  reason?: 'changed' | 'missing' | 'exists' | 'between' | 'linked' | 'later' | 'failed';
  /** With the reason `later`: the id of the change that stays in force. */
  later?: string;
  /** Of the reason `failed`. */
  detail?: string;
  /** How a text changes by being put back. */
  diff?: FileDiff;
}

/** A change of a file by a tool of the server. */
export interface TurnChange {
  id: string;
  turnId: string;
  /** From 1. */
  step: number;
  callId: string;
  /** Sequence number of the message with the call. */
  seq: number;
  kind: 'edit' | 'create' | 'delete' | 'move';
  /** Absolute. */
  path: string;
  /** The new path of a move. */
  to?: string;
  /** SHA-256 of the bytes; missing if there was no file. */
  before?: string;
  after?: string;
  /** Permission bits; 0 for a new file. */
  mode: number;
  at: Time;
  /** `unknown`: after a crash, the file had neither content. `restored`: the change was taken back. */
  state: 'planned' | 'done' | 'not_done' | 'unknown' | 'restored';
  /** The edit of the restore that took the change back. */
  restoredBy?: string;
  /** Whether the bytes are stored. */
  hasBefore?: boolean;
  hasAfter?: boolean;
  /** Of a text whose bytes are stored. */
  diff?: FileDiff;
}

export interface Provider {
  name: string;
  kind: string;
  baseUrl?: string;
  /** The environment variable for the key. */
  keyEnv?: string;
  /** The source of the key. */
  key: 'not_needed' | 'memory' | 'env' | 'stored' | 'offered' | 'missing';
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
  /** If false, window and output are defaults. */
  known: boolean;
  /** Omitted if it is unknown. */
  price?: Price;
}

/** The price of a model in US dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A session that can be undeleted. */
export interface DeletedSession extends SessionInfo {
  deletedAt: Time;
  /** From then on the session can be purged at any time. */
  purgeAt: Time;
  messages: number;
  /** Of its model calls, in US dollars. */
  cost: number;
}

export interface ServerInfo {
  version: string;
  go: string;
  startedAt: Time;
  /** How editors connect: through `serverFile`, or with `webSocket` and the token in `tokenFile`. Both files are paths. */
  address: { webSocket: string; serverFile?: string; tokenFile?: string };
  /** The path of the log. */
  logFile?: string;
  /** The path of the server's program. `EXECUTABLE stdio` is its ACP agent. */
  executable?: string;
  /** Sizes in bytes. */
  database: { path: string; bytes: number; walBytes: number; sessions: number; messages: number };
  /** The default model of sessions, as `provider/model`. */
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
  /** By name. Configured servers are listed even if no session uses them. */
  mcpServers: McpServerInfo[];
}

/** An MCP server with the tools of its last list. */
export interface McpServerInfo {
  name: string;
  transport: 'stdio' | 'http' | (string & {});
  /** Who has named it: the user's configuration, or the client that opened the session. */
  source: 'config' | 'client' | (string & {});
  /** `unused`: no session needs the server. `failed`: the server restarts when a session needs it. */
  state: 'starting' | 'ready' | 'failed' | 'unused' | (string & {});
  /** The newest error; missing for none. */
  error?: string;
  /** Number of sessions that use the server. */
  sessions: number;
  tools: { name: string; title?: string; description?: string }[];
}

export interface Counts {
  connections: number;
  sessionsInMemory: number;
  writesWaiting: number;
  repliesWaiting: number;
  databaseBytes: number;
  /** Why nothing can be stored; missing if it can. */
  storage?: string;
}

/** A line of an export. */
export type TransferLine =
  | { type: 'header'; header: TransferHeader }
  | { type: 'edit'; edit: Edit }
  | { type: 'file'; file: { path: string; state: Json; /** base64 */ buffer?: string } }
  | { type: 'message'; message: Message }
  | { type: 'call'; call: TransferCall };

/** The stored usage of a call. */
export interface TransferCall {
  id: string;
  turnId?: string;
  /** Of the turn, from 1. */
  step?: number;
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
  /** Missing: complete. */
  status?: CallStatus;
  attempts?: number;
  failure?: RpcErrorObject;
  durationMs?: number;
  firstTokenMs?: number;
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
  /** Maximum entries per page. */
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
}

interface Folders {
  /** Absolute; for a stored session its own folder, or the one it has moved to. */
  cwd: string;
  /** Additional roots, absolute. */
  additionalDirectories?: string[];
  /** Ignored. */
  mcpServers?: Json[];
}

/** The settings of a session, and its phases if its profile has phases. */
export interface Options {
  modes?: ModeState;
  configOptions: ConfigOption[];
  /** The turn after which the changes take effect. */
  _meta?: { strata: { afterTurn: string } };
}

/** What a tool does: clients choose an icon by it. */
export type ToolKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'other';

/** A tool that a client declares. The server calls it with `_strata/tool/call`, see {@link ServerRequests}. */
export interface DeclaredTool {
  /** 1 to 64 letters, digits, `_` or `-`; not the name of a built-in tool. */
  name: string;
  /** For the model. */
  description?: string;
  /** A JSON Schema of type `object`. */
  inputSchema: { type: 'object'; [keyword: string]: unknown };
  kind: ToolKind;
  /** The tool changes nothing. Calls of others need an approval. */
  readOnly?: boolean;
}

/** The result of a call of a declared tool. */
export interface ToolResult {
  content: Extract<ContentBlock, { type: 'text' | 'image' }>[];
  /** The call failed: the text tells the model why. */
  isError?: boolean;
}

/** The parameters of `session/new`. */
export interface NewSessionParams extends Folders {
  _meta?: {
    strata?: {
      tools?: DeclaredTool[];
      /** `client`: the files are those of clients with the capability `workspace`; `cwd` only names them. */
      workspace?: 'client';
      /** Identifies the files, for several clients with the same folder name. At most 256 bytes. */
      workspaceId?: string;
    };
  };
}

export interface OpenSessionParams extends OfSession, Folders {
  /** Initial settings of the session. */
  _meta?: {
    strata?: {
      model?: string;
      /** `cwd` is the session's new folder. Not needed if its old folder does not exist any more. */
      moved?: boolean;
      /** `client`: this connection has the files of the session. */
      workspace?: 'client';
      /** Identifies the files, for several clients with the same folder name. At most 256 bytes. */
      workspaceId?: string;
    };
  };
}

export interface PromptParams extends OfSession {
  prompt: ContentBlock[];
  _meta?: {
    strata?: {
      /** Identifies the prompt in the session: a repeated prompt joins the turn or gets its stored result. */
      promptId?: string;
      /** Attached to the user's message. */
      meta?: Json | MessageMeta;
      /** Replaces the tools declared before; an empty list withdraws them. */
      tools?: DeclaredTool[];
    };
  };
}

type Empty = Record<string, never>;

/** Every request with its parameters and its result. */
export interface Methods {
  initialize: { params: InitializeParams; result: InitializeResult };
  authenticate: { params: { methodId?: string }; result: Empty };

  'session/new': { params: NewSessionParams; result: Options & OfSession };
  'session/load': { params: OpenSessionParams; result: Options };
  'session/resume': { params: OpenSessionParams; result: Options };
  /** Creates a session from the newest state. */
  'session/fork': { params: OpenSessionParams; result: Options & OfSession };
  'session/list': {
    params: {
      /** Only sessions of this folder. */
      cwd?: string;
      cursor?: string;
      /** Only sessions whose files are those of clients, with this id. */
      _meta?: { strata?: { workspace?: 'client'; workspaceId?: string } };
    };
    result: { sessions: SessionInfo[]; nextCursor?: string };
  };
  'session/close': { params: OfSession; result: Empty };
  'session/delete': { params: OfSession; result: Empty };
  'session/prompt': { params: PromptParams; result: PromptResult | CommandResult };
  'session/set_mode': {
    params: OfSession & { modeId: string };
    result: { _meta?: { strata: { afterTurn: string } } };
  };
  'session/set_config_option': { params: OfSession & { configId: string; value: string }; result: Options };

  '_strata/session/attach': {
    params: OfSession & {
      epoch?: string;
      after?: number;
      /** Also send the messages that this connection adds. */
      own?: boolean;
      /** `client`: this connection has the files of the session. */
      workspace?: 'client';
      /** Identifies the files, for several clients with the same folder name. At most 256 bytes. */
      workspaceId?: string;
    };
    result: AttachResult;
  };
  '_strata/session/detach': {
    params: OfSession & { /** Also from `session/update`. */ unsubscribe?: boolean };
    result: Empty;
  };
  '_strata/session/info': { params: OfSession; result: SessionDetails };
  '_strata/session/rename': { params: OfSession & { title: string }; result: SessionInfo };
  '_strata/session/undelete': { params: OfSession; result: SessionInfo };
  '_strata/session/list_deleted': { params: { cursor?: string }; result: { sessions: DeletedSession[]; nextCursor?: string } };
  /** Purges a deleted session before its retention ends. */
  '_strata/session/purge': { params: OfSession; result: Empty };
  /** Folders whose absolute paths start with `prefix`. */
  '_strata/folders/complete': { params: { prefix: string; limit?: number }; result: { folders: string[]; more: boolean } };
  '_strata/session/fork': {
    params: OfSession & {
      /** A sequence number, 0 for before the first message, or the id of a checkpoint. */
      at?: number | string;
      /** `client`: this connection has the files of the fork. */
      workspace?: 'client';
      /** Identifies the files, for several clients with the same folder name. At most 256 bytes. */
      workspaceId?: string;
    };
    result: Options & OfSession & { /** The sequence number of the state with which it starts. */ seq: number };
  };
  '_strata/session/export': {
    params: OfSession & { cursor?: string };
    result: { lines: TransferLine[]; nextCursor?: string };
  };
  '_strata/session/import': {
    params: {
      /** Returned for the first page. */
      importId?: string;
      /** With the first page: a folder other than the exported session's. */
      cwd?: string;
      lines: TransferLine[];
      /** Whether this is the last page. */
      done?: boolean;
    };
    result: { importId?: string; /** Set when the import is complete. */ sessionId?: string };
  };

  '_strata/history/list': {
    params: OfSession & Page;
    result: { /** Oldest first. */ messages: ListedMessage[]; summary?: Summary; /** For the previous page. */ nextCursor?: string };
  };
  '_strata/session/search': {
    params: Page & FolderScope & { query: string };
    result: { /** Best first. */ sessions: FoundSession[]; /** Number of sessions on all pages. */ total: number; nextCursor?: string };
  };
  '_strata/history/find': {
    params: OfSession & Page & { /** At most 1,024 bytes. */ text: string };
    result: { /** Oldest first. */ places: FoundPlace[]; nextCursor?: string };
  };
  '_strata/history/search': {
    params: Page & FolderScope & { query: string; role?: Role; sessionId?: string };
    result: {
      hits: SearchHit[];
      nextCursor?: string;
      /** Maximum number of messages, the newest ones, that are not searched yet. */
      behind?: number;
    };
  };
  '_strata/history/append': { params: OfSession & { messages: NewMessage[] }; result: { messageIds: string[] } };
  '_strata/history/replace': {
    params: OfSession & { messages: NewMessage[] };
    result: { seq: number; messageIds: string[] };
  };
  '_strata/history/clear': { params: OfSession; result: { seq: number } | { afterTurn: string } };
  '_strata/history/compact': { params: OfSession & { strategy?: Strategy; /** With `middle`: the part to keep after the first pair. */ keep?: 'none' | 'lastTwo' | 'half' | 'quarter' }; result: Compaction };
  '_strata/history/edits': {
    params: OfSession & Page;
    result: { /** Oldest first. */ edits: ListedEdit[]; /** For the previous page. */ nextCursor?: string };
  };

  '_strata/checkpoint/create': { params: OfSession & { name: string }; result: Checkpoint };
  '_strata/checkpoint/list': { params: OfSession; result: { checkpoints: Checkpoint[] } };
  '_strata/checkpoint/delete': { params: OfSession & { checkpointId: string }; result: { removed: boolean } };
  '_strata/checkpoint/restore': {
    params: OfSession &
      ({ checkpointId: string } | { seq: number } | { beforeMessageId: string } | { /** A time as of RFC 3339. */ at: string }) & {
        /** Also put back the files that tools changed after that place. */
        files?: boolean;
        /** Return what the restore would do now. */
        preview?: boolean;
      };
    result: Restored;
  };
  /** `seq` is the edit to undo: the call fails if another one is the newest. Default: the newest. */
  '_strata/checkpoint/undo': { params: OfSession & { seq?: number }; result: Restored };

  '_strata/turn/changes': {
    /** With `turnId`: of that turn. Otherwise of the newest turns with changes; `limit` is the number of turns. */
    params: OfSession & Page & { turnId?: string };
    result: {
      /** Newest turn first; the changes of a turn are in order. */
      changes: TurnChange[];
      /** The number of changes that have no room in the page. */
      omitted?: number;
      /** For older turns. */
      nextCursor?: string;
    };
  };
  /** Takes back single changes of files. The view stays. */
  '_strata/changes/revert': {
    params: OfSession & {
      /** At most 1,000. */
      changeIds: string[];
      /** Puts changes forward again that were taken back. */
      forward?: boolean;
      /** Return what would become of the files now. */
      preview?: boolean;
    };
    result: RestoredFiles;
  };

  '_strata/files/add': {
    params: OfSession & {
      path: string;
      /** Unsaved text. */
      content?: string;
      /** `summary` adds the outline of the file. */
      state?: 'full' | 'summary';
      range?: FileRange;
      /** Remove after the next reply. */
      once?: boolean;
      /** Never evict the file; a request that does not fit otherwise truncates it. `false` unpins it; absent: as before. */
      pinned?: boolean;
      lineNumbers?: boolean;
      /** Add the file even if it looks like a secret. */
      allow?: boolean;
    };
    result: FileInfo;
  };
  '_strata/files/remove': { params: OfSession & { path: string }; result: { removed: boolean } };
  '_strata/files/clear': { params: OfSession; result: { /** The number of removed files. */ removed: number } };
  '_strata/files/list': {
    params: OfSession & { /** Also list the files of which the newest answered request contained an outline. */ outlines?: boolean; /** Also list the files that tools read. */ read?: boolean };
    result: { files: FileInfo[] };
  };
  '_strata/files/content': {
    params: OfSession & { path: string };
    result: { path: string; content: string; hash: string };
  };
  '_strata/files/changed': { params: OfSession & { paths: string[] }; result: { changed: string[] } };
  '_strata/files/check_edit': {
    params: OfSession & { path: string; /** SHA-256 of the version to edit. */ baseHash?: string; /** The lines to edit; all by default. */ lines?: FileRange };
    result: Empty;
  };
  '_strata/workspace/find': {
    params: OfSession & { query: string; limit?: number };
    result: { /** Best first. */ paths: { path: string; score: number }[] };
  };

  '_strata/outline/get': { params: OfSession & { path: string }; result: Outline };
  /** An empty query finds nothing and returns the state of the index. */
  '_strata/outline/search': {
    params: OfSession & { query: string; /** Default 50, maximum 1,000. */ limit?: number };
    result: { /** Best first. */ symbols: OutlineHit[]; index: IndexStatus };
  };

  '_strata/documents/set': {
    params: OfSession & {
      name: string;
      /** Optional with an implementation or failures. */
      text?: string;
      priority?: number;
      pinned?: boolean;
      phases?: string[];
      status?: string;
      order?: number;
      path?: string;
      /** The implementation of a unit of work. */
      implementation?: string;
      /** Instead of a text, for the document `failures`. */
      failures?: TestFailure[];
    };
    result: DocumentInfo;
  };
  '_strata/documents/remove': { params: OfSession & { name: string }; result: { removed: boolean } };
  '_strata/documents/list': { params: OfSession; result: { documents: DocumentInfo[] } };

  '_strata/context/budget': { params: OfSession; result: Budget };
  /** Measures a prompt as if it were sent now. A newer request of the same connection ends an older one with -32800. */
  '_strata/context/draft': { params: OfSession & { prompt: ContentBlock[]; /** Returns the request too. */ request?: boolean }; result: DraftFigures };
  '_strata/context/find': { params: OfSession & Sought; result: Located };
  /** Keeps a message in all requests, releases it, or takes it out of the view, with its tool calls and their results. */
  '_strata/history/arrange': { params: OfSession & { messageId: string; action: Arrangement }; result: { seq: number; messageIds: string[] } };
  '_strata/context/breakdown': { params: OfSession; result: Breakdown };
  '_strata/context/cache': { params: OfSession; result: CacheOutlook };
  '_strata/context/report': { params: OfSession & { /** Width of the terminal. */ columns?: number }; result: { /** Multi-line. */ text: string; line: string } };
  '_strata/context/count': {
    params: OfSession & { text?: string; messages?: NewMessage[] };
    result: { tokens: number };
  };
  '_strata/context/compaction': { params: OfSession; result: CompactionStatus };
  '_strata/context/assemble': {
    params: OfSession & { tools?: Tool[]; /** Changes nothing and is allowed while a turn is running. */ preview?: boolean };
    result: Assembled;
  };
  '_strata/context/commit': {
    params: OfSession & { assemblyId?: string; messages?: NewMessage[]; message?: NewMessage; usage?: Usage };
    result: { messageIds: string[]; messageId: string; usage: Usage; cost: number; estimated?: boolean };
  };

  '_strata/permissions/list': {
    params: OfSession;
    result: { /** Those of the session, then those of the configuration. */ rules: PermissionRule[] };
  };
  /** Removes a rule of the session. */
  '_strata/permissions/revoke': { params: OfSession & { rule: string }; result: Empty };
  /** Copies a rule of the session to `tools.allow` of the user's configuration. */
  '_strata/permissions/keep': { params: OfSession & { rule: string }; result: Empty };

  '_strata/usage/list': {
    params: OfSession & Page & { /** Start with the newest page instead of the oldest. */ newest?: boolean };
    result: { /** Oldest first. */ calls: Call[]; totals: UsageTotals; nextCursor?: string };
  };

  /** The last calendar days, including today. */
  '_strata/usage/overview': {
    params: { /** 1 to 366; default 30. */ days?: number; /** IANA name; default: the server's zone. */ timeZone?: string };
    result: Overview;
  };
  /** Returns the layout of a call's request. `callId`, or the `messageId` of its reply, selects the call. */
  '_strata/requests/get': {
    params: OfSession & ({ callId: string } | { messageId: string });
    result: { kept: true; call: RequestCall; request: SentRequest } | { kept: false; reason: NotKept; call?: RequestCall };
  };
  /** Compares the request of a call with an earlier one, by default with that of the newest earlier call of its purpose. */
  '_strata/requests/compare': {
    params: OfSession & { callId: string; with?: string };
    result: RequestComparison | { kept: false; reason: NotKept; call: RequestCall; with?: RequestCall };
  };

  '_strata/providers/list': { params: Empty; result: { providers: Provider[] } };
  '_strata/providers/set_key': {
    params: { provider: string; /** Empty to remove the key. */ key: string };
    result: Empty;
  };
  '_strata/providers/offer_keys': {
    params: { /** By provider; used if it has no other key. */ keys: { [provider: string]: string } };
    result: { used: string[]; authMethods: AuthMethod[] };
  };
  /** For programs that run on behalf of this connection; replaces an earlier offer. */
  '_strata/environment/offer': { params: { /** By name. */ env: { [name: string]: string } }; result: Empty };
  '_strata/server/info': { params: Empty; result: ServerInfo };
  '_strata/server/subscribe': { params: Empty; result: { counts: Counts } };
  '_strata/server/hud_code': { params: Empty; result: { /** Valid once, for 10 minutes. */ url: string } };
  /** Stops the server after the response; partial replies are saved. */
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

/** A rule by which calls run, or are refused, without a question. */
export interface PermissionRule {
  /** The text of the rule, by which it is named. */
  rule: string;
  effect: 'allow' | 'deny';
  /** `config`: of the user's configuration; it holds for all sessions. */
  scope: 'session' | 'config';
  tool: string;
  /** Of `run_command`: a command line, or its first words and ` *`. */
  command?: string;
}

/** An answer that the user can select. */
export interface PermissionOption {
  optionId: string;
  name: string;
  kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';
}

interface OfTerminal extends OfSession {
  terminalId: string;
}

/** How a command has ended: with a code, or by a signal. */
export interface ExitStatus {
  exitCode?: number | null;
  signal?: string | null;
}

/** A file in a list of a client's workspace. */
export interface ListedFile {
  /** Relative to the folder, with slashes. */
  path: string;
  /** In bytes. */
  size?: number;
  /** Unix time in milliseconds. */
  modified?: number;
  /** Changes with each change of the text, saved or not, and never returns. */
  version?: string;
}

/** A file in a result of `_strata/workspace/read`. */
export interface ReadFile {
  path: string;
  /** The text, with unsaved changes. */
  content?: string;
  /** The bytes in base64, instead of the text. */
  data?: string;
  /** As in the list, of this text. */
  version?: string;
  /** Why the file cannot be read; without `content` and `data`. */
  error?: { code: number; message: string };
}

/** The requests of the server to a client. */
export interface ServerRequests {
  /** Returns a file, with unsaved changes. The client must have the capability `fs.readTextFile`. */
  'fs/read_text_file': {
    params: OfSession & {
      /** Absolute. */
      path: string;
      /** The first line, from 1. */
      line?: number;
      /** Maximum number of lines. */
      limit?: number;
    };
    result: { content: string };
  };
  /** Writes the text of a file, which need not exist. The client must have the capability `fs.writeTextFile`. */
  'fs/write_text_file': {
    params: OfSession & {
      /** Absolute. */
      path: string;
      content: string;
    };
    result: { [member: string]: unknown } | null;
  };
  /**
   * Returns a page of the files of a client's workspace. The client must have the capability `_meta.strata.workspace` for this
   * and the next three methods.
   */
  '_strata/workspace/list': {
    params: OfSession & {
      /** The folder of the session. */
      folder: string;
      /** The version of the list that the server has; only with the first page. */
      since?: string;
      /** `nextCursor` of the page before. */
      cursor?: string;
      /** Maximum number of files. */
      limit: number;
    };
    result:
      | { unchanged: true }
      | {
          /** `files` are only those that were added or changed since the version `since`. There is no further page. */
          changes: true;
          files: ListedFile[];
          /** The paths of the files that are gone since then. */
          removed?: string[];
          version?: string;
          incomplete?: boolean;
        }
      | {
          changes?: false;
          files: ListedFile[];
          nextCursor?: string;
          /** Changes with each file that is added, removed or changed. */
          version?: string;
          /** The workspace has files that are not in the list. */
          incomplete?: boolean;
        };
  };
  /** Returns several files. Those that are missing in the result are requested again. */
  '_strata/workspace/read': {
    params: OfSession & {
      /** The folder of the session. */
      folder: string;
      /** Relative to the folder, with slashes; at most 256. */
      paths: string[];
      /** How the files are returned; default: text. */
      encoding?: 'text' | 'base64';
      /** A larger file is an error. */
      maxFileBytes: number;
      /** Of all texts together; the result contains at least one file. */
      maxBytes: number;
    };
    result: { files: ReadFile[] };
  };
  /** Deletes a file. */
  '_strata/workspace/delete': {
    params: OfSession & {
      /** Absolute. */
      path: string;
    };
    result: { [member: string]: unknown } | null;
  };
  /** Moves a file to a path without a file. */
  '_strata/workspace/move': {
    params: OfSession & {
      /** Absolute. */
      path: string;
      /** Absolute. */
      newPath: string;
    };
    result: { [member: string]: unknown } | null;
  };
  /** Starts a command. The client must have the capability `terminal`, which stands for all methods of terminals. */
  'terminal/create': {
    params: OfSession & {
      command: string;
      args?: string[];
      env?: { name: string; value: string }[];
      /** Absolute. */
      cwd?: string | null;
      /** In bytes. Of a longer output, the client keeps the end, and reports it as `truncated`. */
      outputByteLimit?: number | null;
    };
    result: { terminalId: string };
  };
  /** Returns the output so far. */
  'terminal/output': {
    params: OfTerminal;
    result: { output: string; truncated: boolean; exitStatus?: ExitStatus | null };
  };
  'terminal/wait_for_exit': { params: OfTerminal; result: ExitStatus };
  /** Ends the command. The terminal and its output remain. */
  'terminal/kill': { params: OfTerminal; result: { [member: string]: unknown } | null };
  /** Ends the command and the terminal. */
  'terminal/release': { params: OfTerminal; result: { [member: string]: unknown } | null };
  /**
   * Asks the user whether a call may run. The client must have the capability `_meta.strata.permission`. The signal of the
   * handler is aborted when another client was first.
   */
  'session/request_permission': {
    params: OfSession & {
      /** The present state of the call. */
      toolCall: Omit<ToolCallUpdate, 'sessionUpdate'>;
      options: PermissionOption[];
    };
    result: {
      outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' };
      /** The user's words to the model, with a rejection. */
      _meta?: { strata?: { message?: string } };
    };
  };
  /** Runs a tool that this client has declared. The server waits 10 minutes at most. */
  '_strata/tool/call': {
    params: OfSession & {
      /** As in the updates of the call. */
      toolCallId: string;
      name: string;
      /** Matches the tool's `inputSchema`. */
      input: { [member: string]: any };
    };
    result: ToolResult;
  };
}

/** The notifications of the server. */
export interface ServerNotifications {
  /** The server no longer waits for the response to a request. The library aborts the handler's signal. */
  '$/cancel_request': { requestId: string | number };
  'session/update': UpdateNotification;
  '_strata/event': SessionEventNotification | Unsubscribed;
  '_strata/server/event': ServerEventNotification;
}

/** The position of a notification in the events of its session. */
export interface Position {
  /** Changes when the session is loaded again. */
  epoch: string;
  /** Increases within an epoch. */
  seq: number;
}

export interface UpdateNotification extends OfSession {
  update: Update;
  _meta: {
    strata: {
      epoch: string;
      /** The first sequence number, if the notification covers several. */
      first?: number;
      /** Missing in updates replayed from the transcript. */
      seq?: number;
      replay?: boolean;
      /** This connection has added the message, and asked for its own messages when it attached. */
      own?: boolean;
      /** The slash command of which the update is the output. It has no `seq`. */
      command?: string;
      /** The prompt with the command. */
      promptId?: string;
    };
  };
}

/** The updates sent to all clients, as in the Agent Client Protocol. */
export type Update =
  | MessageChunk
  | ToolCall
  | ToolCallUpdate
  | Plan
  | UsageUpdate
  | SessionInfoUpdate
  | ConfigOptionUpdate
  | Notice
  | CurrentModeUpdate
  | AvailableCommandsUpdate
  | CompactionUpdate
  | CompactionSummaryChunk;

/** The slash commands of the session. It has no `seq`. */
export interface AvailableCommandsUpdate {
  sessionUpdate: 'available_commands_update';
  availableCommands: AvailableCommand[];
}

export interface AvailableCommand {
  name: string;
  description: string;
  /** Missing for a command without arguments. */
  input?: { hint: string };
}

/** The next chunk of a message. */
export interface MessageChunk {
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';
  content: ContentBlock;
  messageId: string;
}

export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

/** A part of what a call shows. */
export type ToolContent = { type: 'content'; content: ContentBlock } | ToolDiff | ToolTerminal;

/**
 * A terminal in which a command runs. Only the client that has created the terminal receives it. This client shows the output,
 * also after the server has released the terminal. Other clients receive the newest part of the output as text.
 */
export interface ToolTerminal {
  type: 'terminal';
  terminalId: string;
}

/** A change of a file: one group of changed lines with the lines around them. A file with several groups has one diff for each. */
export interface ToolDiff {
  type: 'diff';
  /** Absolute. */
  path: string;
  /** `null` for a new file. */
  oldText?: string | null;
  newText: string;
  _meta?: { strata?: DiffMeta };
}

/** The part of a diff that ACP does not define. */
export interface DiffMeta {
  /** The first lines of both texts in the file, from 1. */
  oldLine?: number;
  newLine?: number;
  /** There is no file after the change. */
  deleted?: boolean;
  /** Lines or groups are omitted because the diff exceeds 64 KiB. */
  cut?: boolean;
}

/**
 * Why a call has a result of Strata instead of one of its tool: `cancelled` by the user, `interrupted` (the session was
 * closed), `lost` (the server ended; whether the call took effect is unknown) or `not_run` (the reply was cut off, or there
 * are no tools).
 */
export type CallOutcome = 'cancelled' | 'interrupted' | 'lost' | 'not_run';

/** What clients were shown of a call. */
export interface CallShown {
  title?: string;
  kind?: ToolKind | (string & {});
  locations?: ToolLocation[];
  outcome?: CallOutcome;
  plan?: PlanEntry[];
  /** The files that the call has changed. */
  diffs?: FileDiff[];
}

/** The change of a file, as it is stored with the result of a call. */
export interface FileDiff {
  path: string;
  /** There was no file. */
  created?: boolean;
  /** There is no file after the change. */
  deleted?: boolean;
  /** Line numbers are from 1. */
  hunks: { oldStart: number; newStart: number; old?: string; new?: string }[];
  /** Lines or hunks are omitted for their size. */
  cut?: boolean;
}

/** A file that a call concerns. */
export interface ToolLocation {
  /** Absolute. */
  path: string;
  /** From 1. */
  line?: number;
}

export interface PlanEntry {
  content: string;
  priority: 'high' | 'medium' | 'low';
  status: 'pending' | 'in_progress' | 'completed';
}

/** What the model plans to do. It replaces the plan before. */
export interface Plan {
  sessionUpdate: 'plan';
  entries: PlanEntry[];
}

export interface ToolCall {
  sessionUpdate: 'tool_call';
  toolCallId: string;
  title: string;
  kind?: ToolKind | (string & {});
  status: ToolStatus;
  rawInput?: Json;
  content?: ToolContent[];
  locations?: ToolLocation[];
  _meta?: { strata: CallMeta };
}

/** The part of a tool call that ACP does not define. */
export interface CallMeta {
  /** The message with the call, in its announcement. */
  messageId?: string;
  /** Why the call has no result of its tool. */
  outcome?: CallOutcome;
  /** Of a running call, whose content is the newest part of its output as text, at most 4 KiB. */
  output?: CallOutput;
}

export interface CallOutput {
  /** Size of the whole output so far, in bytes of UTF-8. The text of the content ends there. */
  end: number;
}

export interface ToolCallUpdate {
  sessionUpdate: 'tool_call_update';
  toolCallId: string;
  title?: string;
  kind?: ToolKind | (string & {});
  status?: ToolStatus;
  rawInput?: Json;
  content?: ToolContent[];
  locations?: ToolLocation[];
  _meta?: { strata: CallMeta };
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

/** A notice to the user. */
export interface Notice {
  sessionUpdate: 'notice';
  severity: 'warning' | (string & {});
  title: string;
}

export interface CompactionUpdate {
  sessionUpdate: 'compaction_update';
  compactionId: string;
  status: 'in_progress' | 'completed' | 'failed' | 'cancelled';
  /** Replaces the previous text; empty for none. */
  summary?: ContentBlock[];
  error?: string;
}

/** The next chunk of a summary. The last `compaction_update` is authoritative. */
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

/** Events sent only to attached clients. */
export type StrataEvent =
  | {
      type: 'turn_started';
      turnId: string;
      promptId?: string;
      userMessageId: string;
      /** The id that the first message of the reply will have. */
      messageId: string;
      model: string;
    }
  | {
      type: 'turn_finished';
      turnId: string;
      /** The id of the last message of the reply; missing if there was none. */
      messageId?: string;
      status: 'completed' | 'cancelled' | 'failed' | 'interrupted';
      stopReason?: StopReason;
      usage: Usage;
      /** US dollars. */
      cost: number;
      /** The provider did not report the whole usage: the missing part was counted. */
      estimated?: boolean;
      error?: RpcErrorObject;
    }
  | {
      type: 'context_changed';
      reason: 'append' | 'clear' | 'commit' | 'compaction' | 'document' | 'restore' | 'unanswered' | 'resume' | 'fitted' | 'arranged' | (string & {});
      historyTokens: number;
      /** Sequence number in the transcript. */
      transcriptSeq: number;
    }
  | ({ type: 'compaction' } & Compaction)
  | { type: 'tiers_changed'; turnId?: string; changes: TierChange[] }
  | { type: 'files_changed'; files: FileChange[] }
  /** Progress of the index of the session's folder. */
  | ({ type: 'index' } & IndexStatus)
  | { type: 'left_out'; turnId?: string; leftOut: LeftOut[] }
  | {
      type: 'retrying';
      turnId: string;
      /** The failed attempt, from 1. */
      attempt: number;
      /** Maximum attempts. */
      of: number;
      /** Delay before the next attempt, in milliseconds. */
      delayMs: number;
      /** HTTP status; 0 for a broken connection. */
      status: number;
      reason: string;
    }
  /** With the profile `loop`: progress reported in a reply. */
  | { type: 'progress'; turnId?: string; messageId: string; markers: string[] }
  /** With the profile `loop`: a reply reports that the goal is reached. `iterations` counts those since the last clear. */
  | { type: 'completed'; turnId?: string; messageId: string; iterations: number }
  | { type: 'saved'; turnId: string }
  | { type: 'save_failed'; turnId: string; reason: string }
  | { type: 'config_changed'; config: Config }
  /** The rules by which calls run without asking; see `_strata/permissions/list`. */
  | { type: 'permissions_changed' }
  /** Events were dropped because this client was too slow. Watchers get a snapshot instead. */
  | { type: 'resynced' }
  /** Always the last event. */
  | { type: 'closed'; reason: 'closed' | 'deleted' | 'idle' | 'shutdown' | (string & {}) };

export interface FileChange {
  path: string;
  change: 'added' | 'removed' | 'changed' | 'deleted' | 'unreadable';
  reason?: string;
}

/** The last event of a subscription that the server ended to make room for another one of this connection. */
export interface Unsubscribed extends OfSession {
  type: 'unsubscribed';
  epoch: string;
}

/** {@link StrataEvent} with its position. `turnId` is set if it belongs to a turn. */
export type SessionEventNotification = StrataEvent & OfSession & Position & { first?: number; turnId?: string };

/** The events for a list of all sessions. */
export type ServerEventNotification =
  /** Also sent for an imported or undeleted session. */
  | { type: 'created'; sessionId: string; session: SessionInfo }
  | { type: 'renamed'; sessionId: string; session: SessionInfo }
  | {
      type: 'state';
      sessionId: string;
      state: SessionState;
      /** Missing for `idle`. */
      activity?: Activity;
      /** A turn that has ended since the last event of this type. */
      ended?: { turnId: string; status: 'completed' | 'cancelled' | 'failed' | 'interrupted' };
    }
  | { type: 'deleted'; sessionId: string }
  /** A deleted session can no longer be undeleted. */
  | { type: 'purged'; sessionId: string }
  | { type: 'counts'; counts: Counts }
  /** A budget has reached a threshold, once in its period. */
  | { type: 'budget'; budget: BudgetState; /** The warning, for the user. */ text: string }
  /** The `mcpServers` of `_strata/server/info` have changed. */
  | { type: 'mcp_servers' }
  /** Events were dropped: the list must be fetched again. */
  | { type: 'reset' };
