import type { CommandResult, ConnectionState, ContentBlock, InitializeResult, Methods, PromptResult, RefusalReason, ServerRequests } from '@strata/client';

/** An error in a message. Classes are lost between the extension host and a view; the name brings them back. */
export interface SentError {
  name: string;
  message: string;
  code?: number;
  data?: unknown;
  /** Of a `ConnectionRefused`. */
  reason?: RefusalReason;
}

/** The state of the connection in a message. */
export type SentState =
  | Extract<ConnectionState, { kind: 'open' | 'connecting' }>
  | { kind: 'waiting'; attempt: number; retryAt: string; reason: string; error: SentError }
  | { kind: 'closed'; reason: string; error: SentError };

/** A block of code in a reply, with the line that opens it and the one before it, which can name its file. */
export interface CodeBlock {
  text: string;
  info: string;
  before: string;
}

/** The kinds of mentions: `context` is found at once, `symbols` may take a second. */
export type MentionKind = 'context' | 'symbols';

/** Something in the editor that a prompt can mention. */
export interface Mention {
  /** The text after the @, without blanks. */
  label: string;
  /** A few words about it. */
  detail: string;
  attachment: { name: string; block: Exclude<ContentBlock, { type: 'text' }> };
}

/** The streams that a view can open. */
export type Source = { kind: 'watch'; sessionId: string; commands: boolean } | { kind: 'serverEvents' };

/** A message from a view to the extension host. Ids are chosen by the view and count from 1. */
export type FromView =
  /** The view has loaded and listens. */
  | { type: 'ready' }
  | { type: 'call'; id: number; method: keyof Methods; params: unknown }
  /** Ends a call, or a stream. */
  | { type: 'abort'; id: number }
  | { type: 'open'; id: number; source: Source }
  /** The view has taken the last items of a stream, and wants more. */
  | { type: 'more'; id: number }
  | { type: 'prompt'; id: number; sessionId: string; content: unknown; promptId: string; meta?: unknown }
  | { type: 'cancel'; sessionId: string }
  | { type: 'retryNow' }
  | { type: 'answer'; question: number; result: ServerRequests['session/request_permission']['result'] }
  | { type: 'find'; id: number; kind: MentionKind; query: string }
  /** The title of the page. */
  | { type: 'title'; title: string }
  | { type: 'do'; action: Action };

/** Something that only the editor can do for a view. */
export type Action =
  /** Shows an address of the HUD, a fragment such as `#/session/ID`. */
  | { kind: 'hud'; address: string }
  /** Shows an address of the HUD in a browser, which can print. */
  | { kind: 'browser'; address: string }
  /** Stores a file where the user chooses. */
  | { kind: 'save'; name: string; content: Uint8Array }
  | { kind: 'insert'; text: string }
  | { kind: 'apply'; block: CodeBlock }
  /** Shows what a call would change that the server asks about. */
  | { kind: 'openDiff'; sessionId: string; toolCallId: string }
  | { kind: 'newSession' }
  | { kind: 'reconnect' }
  /** Shows why there is no connection, with what helps. */
  | { kind: 'fixConnection' };

/** A message from the extension host to a view. */
export type ToView =
  | { type: 'connection'; state: SentState; agent?: InitializeResult }
  | { type: 'result'; id: number; result: unknown }
  | { type: 'error'; id: number; error: SentError }
  | { type: 'items'; id: number; items: unknown[] }
  /** A stream has ended, with an error or without. */
  | { type: 'end'; id: number; error?: SentError }
  /** The result of a prompt, and its text if it was a command. */
  | { type: 'prompted'; id: number; result: PromptResult | CommandResult; text: string }
  /** The answer to `find`. */
  | { type: 'found'; id: number; mentions: Mention[] }
  | { type: 'ask'; question: number; params: ServerRequests['session/request_permission']['params'] }
  /** The server no longer waits for the answer to a question. */
  | { type: 'withdraw'; question: number }
  | { type: 'show'; sessionId: string | null }
  /** Shows an address of the HUD. */
  | { type: 'go'; address: string }
  /** Adds to the draft of the prompt. */
  | { type: 'draft'; text: string; files: { name: string; uri: string }[] }
  /** The user has come to the view. */
  | { type: 'focus' };
