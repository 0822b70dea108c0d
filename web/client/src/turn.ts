import type { PromptOptions, Turn } from './api.js';
import { Reply } from './reply.js';
import { ClientClosed, ConnectionLost, LimitExceeded } from './errors.js';
import type { Subscription, Listener } from './subscription.js';
import type { Subscriptions } from './subscriptions.js';
import { CancelledUnsent, type Link, type Pending } from './link.js';
import type {
  AttachResult,
  CommandResult,
  ContentBlock,
  DeclaredTool,
  ListedMessage,
  Methods,
  Position,
  PromptResult,
  SessionEventNotification,
  ToolCall,
  Update,
} from './protocol.js';
import { Queue } from './queue.js';
import { joined } from './watcher.js';

/** The maximum number of queued updates of a turn; consecutive chunks of a text count as one. */
export const MAX_UPDATES = 1_024;

/** The number of messages to ask for in a page of the transcript. */
const PAGE = 100;

/** The maximum number of pages at the end of the transcript to search for a reply, and of pages to read of one. */
const MAX_SEARCHED = 10;
const MAX_PAGES = 500;

type Outcome = { result: PromptResult } | { error: Error };

const CANCELLED: Outcome = { result: { stopReason: 'cancelled' } };

/**
 * A prompt and its turn. It listens to the session from its position before the prompt. After a lost connection it sends
 * the prompt again, which joins the turn or returns its stored result. The missed part of the reply is taken from the
 * events, a snapshot and the transcript: while the session works for the turn, all its updates are those of the turn.
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

  #output = ''; // of a slash command
  #reply: Reply | null = null;
  #held: Update[] | null = null; // updates that wait for messages before them to be read
  #readings = 0;
  #gap = false;
  #finished = false;
  #iterated = false;

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
    return this.#reply?.text() ?? this.#output;
  }

  async calls(): Promise<ToolCall[]> {
    await this.#whole;
    return this.#reply?.calls() ?? [];
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
      else this.#end(error ? { error } : { result: promptResult(result!) });
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
      this.#reply = this.#replyOf(event.turnId);
      this.#gap = false;
    }
    if (event.type === 'turn_finished' && event.turnId === this.#reply?.turnId) this.#finished = true;
  }

  update(update: Update): void {
    if (!this.#reply || this.#finished) return;
    if (!this.#held) return this.#reply.update(update);
    if (this.#held.length < MAX_UPDATES) this.#held.push(update);
    else this.#lag();
  }

  output(update: Update, promptId: unknown): void {
    if (promptId !== this.promptId || this.#output !== '' || update.sessionUpdate !== 'agent_message_chunk') return;
    if (update.content?.type !== 'text') return;
    this.#output = String(update.content.text);
    this.#push(update);
  }

  snapshot(state: AttachResult): void {
    const reply = this.#reply;
    if (!reply || this.#gap) return;
    const { messages, nextCursor, running } = state.snapshot!;
    this.#held = [];
    this.#read(reply, messages, nextCursor, (error, stored) => {
      if (error) return this.#lag();
      const held = this.#held!;
      this.#held = null;
      reply.stored(stored);
      if (running?.turnId === reply.turnId) reply.running(running);
      else this.#finished = true;
      for (const update of held) reply.update(update);
    });
  }

  /** Delivers nothing more before the end of the turn. */
  #lag(): void {
    this.#readings++;
    this.#held = null;
    this.#gap = this.#finished = true;
  }

  ended(): void {
    this.#gap = true; // the response to the prompt has the result of the turn
  }

  #push(update: Update): void {
    const last = this.#updates.last;
    const longer = last ? joined(last, update) : null;
    if (longer) this.#updates.last = longer;
    else if (this.#updates.length < MAX_UPDATES) this.#updates.push(update);
    else {
      this.#updates.clear();
      this.#updates.end(new LimitExceeded(`more than ${MAX_UPDATES} updates of a turn are queued`));
    }
  }

  #replyOf(turnId: string): Reply {
    return this.#reply?.turnId === turnId ? this.#reply : new Reply(turnId, (update) => this.#push(update));
  }

  /**
   * Completes the messages of the transcript from the cursor on, oldest first, by those of the turn before them that were
   * not delivered. A later call replaces an earlier one. `read` is called at once if nothing is missing.
   */
  #read(reply: Reply, messages: ListedMessage[], cursor: string | undefined, read: (error: Error | null, messages: ListedMessage[]) => void): void {
    const reading = ++this.#readings;
    let pages = 0;
    const more = () => {
      if (reply.joins(messages) || cursor === undefined) return read(null, messages);
      const isFound = messages.some(({ turnId }) => turnId === reply.turnId);
      if (pages >= (isFound ? MAX_PAGES : MAX_SEARCHED)) return read(isFound ? new LimitExceeded('the reply has too many messages') : null, messages);
      const params = { sessionId: this.#sessionId, limit: PAGE, ...(cursor === '' ? {} : { cursor }) };
      this.#request('_strata/history/list', params, (error, page) => {
        if (reading !== this.#readings) return;
        if (error instanceof ConnectionLost) return more();
        if (error) return read(error, messages);
        pages++;
        messages = [...page!.messages, ...messages.filter(({ turnId }) => turnId === reply.turnId)];
        cursor = page!.nextCursor;
        more();
      });
    };
    more();
  }

  // Ending

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#signal?.removeEventListener('abort', this.#abort);
    if ('result' in outcome) this.#settle.resolve(outcome.result);
    else this.#settle.reject(outcome.error);

    const isWhole = this.#reply !== null && !this.#gap && !this.#held && (this.#finished || this.#subscription?.caughtUp(this));
    const turnId = this.#reply?.turnId ?? ('result' in outcome ? outcome.result._meta?.strata.turnId : undefined);
    this.#subscription?.remove(this);
    if (isWhole || turnId === undefined) this.#conclude();
    else this.#readTranscript(turnId);
  }

  /** Delivers the missed part of the reply from the transcript. */
  #readTranscript(turnId: string): void {
    const reply = (this.#reply = this.#replyOf(turnId));
    this.#read(reply, [], '', (error, messages) => {
      if (!error) reply.stored(messages);
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

/** Tells the result of a slash command that is no turn apart from that of a turn. */
function promptResult(result: PromptResult | CommandResult): PromptResult {
  const strata = result._meta?.strata;
  return strata && 'command' in strata ? { stopReason: result.stopReason, command: strata.command } : (result as PromptResult);
}

function randomId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // not in a secure context
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
