import type { PromptOptions, Turn } from './api.js';
import { Reply } from './reply.js';
import { ClientClosed, ConnectionLost, LimitExceeded } from './errors.js';
import type { Subscription, Listener } from './subscription.js';
import type { Subscriptions } from './subscriptions.js';
import { CancelledUnsent, type Link, type Pending } from './link.js';
import type {
  AttachResult,
  ContentBlock,
  DeclaredTool,
  Methods,
  Position,
  PromptResult,
  SessionEventNotification,
  Update,
} from './protocol.js';
import { Queue } from './queue.js';
import { joined } from './watcher.js';

/** The maximum number of queued updates of a turn; consecutive chunks of a text count as one. */
export const MAX_UPDATES = 1_024;

/** The maximum length of the text kept for `text`, in characters. The server limits a reply to 2 MiB. */
export const MAX_TEXT = 4 << 20;

/** The number of messages at the end of the transcript to search for a reply. */
const NEWEST = 100;

type Outcome = { result: PromptResult } | { error: Error };

const CANCELLED: Outcome = { result: { stopReason: 'cancelled' } };

/**
 * A prompt and its turn. It listens to the session from its position before the prompt. After a lost connection it sends
 * the prompt again, which joins the turn or returns its stored result. The missed part of the reply is taken from the
 * events, a snapshot, or finally the transcript.
 */
export class PromptTurn implements Turn, Listener {
  readonly promptId: string;
  readonly result: Promise<PromptResult>;
  position: Position | null = null;

  readonly #link: Link;
  readonly #subscriptions: Subscriptions;
  readonly #sessionId: string;
  readonly #prompt: ContentBlock[];
  readonly #signal: AbortSignal | undefined;
  readonly #tools: DeclaredTool[] | undefined;
  readonly #meta: PromptOptions['meta'];
  readonly #updates = new Queue<Update>();
  readonly #abort = () => this.cancel();
  readonly #whole: Promise<void>;
  #settle!: { resolve: (result: PromptResult) => void; reject: (error: Error) => void };
  #settleWhole!: { resolve: () => void; reject: (error: Error) => void };

  #subscription: Subscription | null = null;
  #pending: Pending | null = null;
  #sentBefore = false;
  #cancelled = false;
  #outcome: Outcome | null = null;

  #turnId: string | null = null;
  #reply: Reply | null = null;
  #gap = false;
  #finished = false;
  #iterated = false;
  #text: string[] = [];
  #textLength = 0;

  constructor(link: Link, subscriptions: Subscriptions, sessionId: string, content: string | ContentBlock[], options: PromptOptions) {
    this.#link = link;
    this.#subscriptions = subscriptions;
    this.#sessionId = sessionId;
    this.#prompt = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    this.#signal = options.signal;
    this.#tools = options.tools;
    this.#meta = options.meta;
    this.promptId = options.promptId ?? randomId();
    this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.#whole = new Promise((resolve, reject) => (this.#settleWhole = { resolve, reject }));
    // A caller may handle only one of the promises.
    this.result.catch(() => {});
    this.#whole.catch(() => {});
    this.#signal?.addEventListener('abort', this.#abort);
    const refusal = link.refusal('session/prompt', this.#params());
    if (refusal) this.#end({ error: refusal });
    else if (this.#signal?.aborted) this.#end(CANCELLED);
    else this.#begin();
  }

  [Symbol.asyncIterator](): AsyncIterator<Update> {
    if (this.#iterated) throw new Error('the updates of a turn can be iterated once');
    this.#iterated = true;
    return this.#updates;
  }

  async text(): Promise<string> {
    await this.#whole;
    if (this.#textLength > MAX_TEXT) throw new LimitExceeded(`the reply exceeds ${MAX_TEXT} characters`);
    return this.#text.join('');
  }

  cancel(): void {
    if (this.#outcome || this.#cancelled) return;
    this.#cancelled = true;
    this.#pending?.cancel(!this.#sentBefore);
  }

  /** Gets the session's position, so that listening starts before the turn, and then sends the prompt. */
  #begin(): void {
    this.#subscription = this.#subscriptions.join(this.#sessionId, this);
    if (this.#subscription) return this.#send();
    this.#pending = this.#request('_strata/session/info', { sessionId: this.#sessionId }, (error, details) => {
      if (this.#cancelled) return this.#end(CANCELLED);
      if (error instanceof ConnectionLost) return this.#begin();
      if (error) return this.#end({ error });
      this.position = { epoch: details!.epoch, seq: details!.seq };
      this.#subscription = this.#subscriptions.add(this.#sessionId, this);
      this.#send();
    });
  }

  #params(): Methods['session/prompt']['params'] {
    const tools = this.#tools && { tools: this.#tools };
    const meta = this.#meta === undefined ? {} : { meta: this.#meta };
    return { sessionId: this.#sessionId, prompt: this.#prompt, _meta: { strata: { promptId: this.promptId, ...meta, ...tools } } };
  }

  #send(): void {
    this.#pending = this.#request('session/prompt', this.#params(), (error, result) => {
      if (error instanceof ConnectionLost) this.#sendAgain();
      else if (error instanceof CancelledUnsent) this.#end(CANCELLED);
      else if (error instanceof ClientClosed && this.#sentBefore) this.#end({ error: new ConnectionLost(error.message) });
      else this.#end(error ? { error } : { result: result! });
    });
  }

  /** The turn may be running, so a cancellation is sent after the prompt instead of dropping it. */
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

  // Listener

  event(event: SessionEventNotification): void {
    if (event.type === 'turn_started' && event.promptId === this.promptId) {
      this.#turnId = event.turnId;
      this.#reply = new Reply(event.messageId, (chunk) => this.#push(chunk));
      this.#gap = false;
    }
    if (event.type === 'turn_finished' && event.turnId === this.#turnId) this.#finished = true;
  }

  update(update: Update): void {
    if (!this.#reply || this.#finished) return;
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        return;
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
        if (update.messageId !== this.#reply.messageId) return;
        if (update.content?.type === 'text') this.#reply.chunk(update.sessionUpdate, String(update.content.text));
        else this.#push(update);
        return;
      default:
        this.#push(update);
    }
  }

  snapshot(state: AttachResult): void {
    if (this.#reply?.inSnapshot(state.snapshot!)) this.#finished = true;
    else if (state.snapshot!.running?.messageId !== this.#reply?.messageId) this.#gap = true;
  }

  ended(): void {
    this.#gap = true; // the response to the prompt has the result of the turn
  }

  #push(update: Update): void {
    if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text') this.#keep(update.content.text);
    const last = this.#updates.last;
    const longer = last ? joined(last, update) : null;
    if (longer) this.#updates.last = longer;
    else if (this.#updates.length < MAX_UPDATES) this.#updates.push(update);
    else {
      this.#updates.clear();
      this.#updates.end(new LimitExceeded(`more than ${MAX_UPDATES} updates of a turn are queued`));
    }
  }

  #keep(text: string): void {
    this.#textLength += text.length;
    if (this.#textLength <= MAX_TEXT) this.#text.push(text);
  }

  // Ending

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#signal?.removeEventListener('abort', this.#abort);
    if ('result' in outcome) this.#settle.resolve(outcome.result);
    else this.#settle.reject(outcome.error);

    const isWhole = this.#reply !== null && !this.#gap && (this.#finished || this.#subscription?.caughtUp(this));
    const messageId = this.#reply?.messageId ?? ('result' in outcome ? outcome.result._meta?.strata.messageId : undefined);
    this.#subscription?.remove(this);
    if (isWhole || messageId === undefined) this.#conclude();
    else this.#readTranscript(messageId);
  }

  /** Delivers the missed part of the reply from the transcript. */
  #readTranscript(messageId: string): void {
    const reply = this.#reply ?? new Reply(messageId, (chunk) => this.#push(chunk));
    const params = { sessionId: this.#sessionId, limit: NEWEST };
    this.#request('_strata/history/list', params, (error, page) => {
      if (error instanceof ConnectionLost) return this.#readTranscript(messageId);
      const message = page?.messages.find(({ id }) => id === messageId);
      if (message) reply.stored(message);
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
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // not in a secure context
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
