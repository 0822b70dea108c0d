import type { PromptOptions, Turn } from './api.js';
import { Answer } from './answer.js';
import { ClientClosed, ConnectionLost, TooMuchWaits } from './errors.js';
import type { Feed, Listener } from './feed.js';
import type { Feeds } from './feeds.js';
import { CancelledUnsent, type Link, type Pending } from './link.js';
import type {
  AttachResult,
  ContentBlock,
  Methods,
  Place,
  PromptResult,
  SessionEventNotification,
  Update,
} from './protocol.js';
import { Queue } from './queue.js';
import { joined } from './watcher.js';

/** The most updates of a turn that wait for a consumer; pieces of one text count as one. */
export const MAX_UPDATES = 1_024;

/** The most text that is kept for `text`, in characters. The server bounds an answer to 2 MiB. */
export const MAX_TEXT = 4 << 20;

/** How many messages at the end of the transcript are looked through for an answer. */
const NEWEST = 100;

type Outcome = { result: PromptResult } | { error: Error };

const CANCELLED: Outcome = { result: { stopReason: 'cancelled' } };

/**
 * A prompt and what becomes of it. It listens to the session from where that stood before the prompt. When the connection
 * is lost it sends the prompt again, which joins the turn or brings its stored ending; what of the answer came meanwhile is
 * told by the events, by a snapshot, or in the end by the transcript.
 */
export class PromptTurn implements Turn, Listener {
  readonly promptId: string;
  readonly result: Promise<PromptResult>;
  place: Place | null = null;

  readonly #link: Link;
  readonly #feeds: Feeds;
  readonly #sessionId: string;
  readonly #prompt: ContentBlock[];
  readonly #signal: AbortSignal | undefined;
  readonly #updates = new Queue<Update>();
  readonly #abort = () => this.cancel();
  readonly #whole: Promise<void>;
  #settle!: { resolve: (result: PromptResult) => void; reject: (error: Error) => void };
  #settleWhole!: { resolve: () => void; reject: (error: Error) => void };

  #feed: Feed | null = null;
  #pending: Pending | null = null;
  #sentBefore = false;
  #cancelled = false;
  #outcome: Outcome | null = null;

  #turnId: string | null = null;
  #answer: Answer | null = null;
  #gap = false;
  #finished = false;
  #iterated = false;
  #text: string[] = [];
  #textLength = 0;

  constructor(link: Link, feeds: Feeds, sessionId: string, content: string | ContentBlock[], options: PromptOptions) {
    this.#link = link;
    this.#feeds = feeds;
    this.#sessionId = sessionId;
    this.#prompt = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    this.#signal = options.signal;
    this.promptId = options.promptId ?? randomId();
    this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#whole = new Promise((resolve, reject) => (this.#settleWhole = { resolve, reject }));
    // Whoever looks at one of the ways in which a turn ends need not look at the others.
    this.result.catch(() => {});
    this.#whole.catch(() => {});
    this.#signal?.addEventListener('abort', this.#abort);
    if (this.#signal?.aborted) this.#end(CANCELLED);
    else this.#begin();
  }

  [Symbol.asyncIterator](): AsyncIterator<Update> {
    if (this.#iterated) throw new Error('the updates of a turn can be iterated once');
    this.#iterated = true;
    return this.#updates;
  }

  async text(): Promise<string> {
    await this.#whole;
    if (this.#textLength > MAX_TEXT) throw new TooMuchWaits(`the answer has more than ${MAX_TEXT} characters`);
    return this.#text.join('');
  }

  cancel(): void {
    if (this.#outcome || this.#cancelled) return;
    this.#cancelled = true;
    this.#pending?.cancel(!this.#sentBefore);
  }

  /** Finds out where the session stands, so that listening begins in front of the turn; then sends the prompt. */
  #begin(): void {
    this.#feed = this.#feeds.join(this.#sessionId, this);
    if (this.#feed) return this.#send();
    this.#pending = this.#request('_strata/session/info', { sessionId: this.#sessionId }, (error, details) => {
      if (this.#cancelled) return this.#end(CANCELLED);
      if (error instanceof ConnectionLost) return this.#begin();
      if (error) return this.#end({ error });
      this.place = { epoch: details!.epoch, seq: details!.seq };
      this.#feed = this.#feeds.add(this.#sessionId, this);
      this.#send();
    });
  }

  #send(): void {
    const params = {
      sessionId: this.#sessionId,
      prompt: this.#prompt,
      _meta: { strata: { promptId: this.promptId } },
    };
    this.#pending = this.#request('session/prompt', params, (error, result) => {
      if (error instanceof ConnectionLost) this.#sendAgain();
      else if (error instanceof CancelledUnsent) this.#end(CANCELLED);
      else if (error instanceof ClientClosed && this.#sentBefore) this.#end({ error: new ConnectionLost(error.message) });
      else this.#end(error ? { error } : { result: result! });
    });
  }

  /** The turn may run: cancelling takes effect right behind the prompt. */
  #sendAgain(): void {
    this.#sentBefore = true;
    this.#send();
    if (this.#cancelled) this.#pending?.cancel(false);
  }

  #request<M extends keyof Methods>(
    method: M,
    params: Methods[M]['params'],
    settle: (error: Error | null, result?: Methods[M]['result']) => void,
  ): Pending {
    return this.#link.request(method, params, settle);
  }

  // What the session tells.

  event(event: SessionEventNotification): void {
    if (event.type === 'turn_started' && event.promptId === this.promptId) {
      this.#turnId = event.turnId;
      this.#answer = new Answer(event.messageId, (chunk) => this.#push(chunk));
      this.#gap = false;
    }
    if (event.type === 'turn_finished' && event.turnId === this.#turnId) this.#finished = true;
  }

  update(update: Update): void {
    if (!this.#answer || this.#finished) return;
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        return;
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
        if (update.messageId !== this.#answer.messageId) return;
        if (update.content?.type === 'text') this.#answer.piece(update.sessionUpdate, String(update.content.text));
        else this.#push(update);
        return;
      default:
        this.#push(update);
    }
  }

  snapshot(state: AttachResult): void {
    if (this.#answer?.shown(state.snapshot!)) this.#finished = true;
    else if (state.snapshot!.running?.messageId !== this.#answer?.messageId) this.#gap = true;
  }

  ended(): void {
    this.#gap = true; // the answer to the prompt says how the turn ended
  }

  #push(update: Update): void {
    if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text') this.#keep(update.content.text);
    const last = this.#updates.last;
    const longer = last ? joined(last, update) : null;
    if (longer) this.#updates.last = longer;
    else if (this.#updates.length < MAX_UPDATES) this.#updates.push(update);
    else {
      this.#updates.clear();
      this.#updates.end(new TooMuchWaits(`more than ${MAX_UPDATES} updates of a turn wait to be iterated`));
    }
  }

  #keep(text: string): void {
    this.#textLength += text.length;
    if (this.#textLength <= MAX_TEXT) this.#text.push(text);
  }

  // How it ends.

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#signal?.removeEventListener('abort', this.#abort);
    if ('result' in outcome) this.#settle.resolve(outcome.result);
    else this.#settle.reject(outcome.error);

    const isWhole = this.#answer !== null && !this.#gap && (this.#finished || this.#feed?.caughtUp(this));
    const messageId = this.#answer?.messageId ?? ('result' in outcome ? outcome.result._meta?.strata.messageId : undefined);
    this.#feed?.remove(this);
    if (isWhole || messageId === undefined) this.#conclude();
    else this.#readTranscript(messageId);
  }

  /** Tells what of the answer was missed. */
  #readTranscript(messageId: string): void {
    const answer = this.#answer ?? new Answer(messageId, (chunk) => this.#push(chunk));
    const params = { sessionId: this.#sessionId, limit: NEWEST };
    this.#request('_strata/history/list', params, (error, page) => {
      if (error instanceof ConnectionLost) return this.#readTranscript(messageId);
      const message = page?.messages.find(({ id }) => id === messageId);
      if (message) answer.stored(message);
      this.#conclude(error ?? undefined);
    });
  }

  #conclude(problem?: Error): void {
    const outcome = this.#outcome!;
    const error = 'error' in outcome ? outcome.error : problem;
    this.#updates.end(error);
    if (error) this.#settleWhole.reject(error);
    else this.#settleWhole.resolve();
  }
}

function randomId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // a page that is in no secure context
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
