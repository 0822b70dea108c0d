import { LimitExceeded, type Client, type ContentBlock, type MessageMeta, type SessionEvent, type ServerEvent } from '@strata/client';
import { sent } from './errors.js';
import type { FromView, Source, ToView } from './messages.js';

/** The maximum number of items in a message of a stream. */
const MAX_ITEMS = 256;

/** The maximum number of calls, streams and prompts of one view at the same time. */
export const MAX_RUNNING = 1000;

/** The client of the extension host, undefined while there is none. */
export type ClientOf = () => Client | undefined;

/**
 * Serves the calls, streams and prompts of one view with the client of the extension host. A prompt outlives its view: the
 * turn goes on, and the view shows it when it is drawn again.
 */
export class Served {
  readonly #post: (message: ToView) => void;
  readonly #clientOf: ClientOf;
  readonly #running = new Map<number, AbortController>();
  /** Streams that wait until the view has taken their last items. */
  readonly #waiting = new Map<number, () => void>();

  constructor(clientOf: ClientOf, post: (message: ToView) => void) {
    this.#clientOf = clientOf;
    this.#post = post;
  }

  /** Handles a message about calls and streams. Reports whether it was one. */
  take(message: FromView): boolean {
    if ((message.type === 'call' || message.type === 'open' || message.type === 'prompt') && this.#refuses(message)) return true;
    switch (message.type) {
      case 'call':
        void this.#call(message);
        return true;
      case 'abort':
        this.#end(message.id);
        return true;
      case 'open':
        void this.#stream(message.id, message.source);
        return true;
      case 'more':
        this.#waiting.get(message.id)?.();
        return true;
      case 'prompt':
        void this.#prompt(message);
        return true;
      case 'cancel':
        this.#clientOf()?.session(message.sessionId).cancel();
        return true;
      case 'retryNow':
        this.#clientOf()?.retryNow();
        return true;
      default:
        return false;
    }
  }

  /** Answers a message with an error if its id is in use, or the view waits for too much. */
  #refuses({ type, id }: Extract<FromView, { type: 'call' | 'open' | 'prompt' }>): boolean {
    if (this.#running.size < MAX_RUNNING && !this.#running.has(id)) return false;
    const error = sent(new LimitExceeded(`at most ${MAX_RUNNING} requests with different ids at the same time`));
    if (!this.#running.has(id)) this.#post({ type: type === 'open' ? 'end' : 'error', id, error });
    return true;
  }

  /** Ends all calls and streams: the view is gone, or has begun anew. */
  clear(): void {
    for (const id of [...this.#running.keys()]) this.#end(id);
  }

  #end(id: number): void {
    this.#running.get(id)?.abort();
    this.#running.delete(id);
    this.#waiting.get(id)?.();
  }

  async #call({ id, method, params }: Extract<FromView, { type: 'call' }>): Promise<void> {
    const abort = this.#begin(id);
    try {
      const result = await this.#client().call(method, params as never, { signal: abort.signal });
      this.#answer(id, abort, { type: 'result', id, result });
    } catch (error) {
      this.#answer(id, abort, { type: 'error', id, error: sent(error) });
    }
  }

  /** Sends a prompt. The turn is not ended with the view: its end is then reported to nobody. */
  async #prompt({ id, sessionId, content, promptId, meta }: Extract<FromView, { type: 'prompt' }>): Promise<void> {
    const abort = this.#begin(id);
    try {
      const turn = this.#client().session(sessionId).prompt(content as ContentBlock[], { promptId, ...(meta === undefined ? {} : { meta: meta as MessageMeta }) });
      const result = await turn.result;
      const text = result.command === undefined ? '' : await turn.text(); // a view watches the session for other texts
      this.#answer(id, abort, { type: 'prompted', id, result, text });
    } catch (error) {
      this.#answer(id, abort, { type: 'error', id, error: sent(error) });
    }
  }

  /**
   * Sends the items of a stream, those that are queued in one message, and waits with each message until the view has taken
   * the last one: the client bounds the queue.
   */
  async #stream(id: number, source: Source): Promise<void> {
    const abort = this.#begin(id);
    try {
      const items = this.#items(source, abort.signal);
      for await (const batch of batches(items)) {
        if (abort.signal.aborted) return;
        const taken = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
        this.#post({ type: 'items', id, items: batch });
        await taken;
        this.#waiting.delete(id);
      }
      this.#answer(id, abort, { type: 'end', id });
    } catch (error) {
      this.#answer(id, abort, { type: 'end', id, error: sent(error) });
    }
  }

  #items(source: Source, signal: AbortSignal): AsyncIterableIterator<SessionEvent | ServerEvent> {
    if (source.kind === 'serverEvents') return this.#client().serverEvents({ signal });
    return this.#client().session(source.sessionId).watch({ signal, commands: source.commands });
  }

  #client(): Client {
    const client = this.#clientOf();
    if (!client) throw new Error('not connected');
    return client;
  }

  /** The number of calls, streams and prompts that the view waits for. */
  get running(): number {
    return this.#running.size;
  }

  #begin(id: number): AbortController {
    const abort = new AbortController();
    this.#running.set(id, abort);
    return abort;
  }

  #answer(id: number, abort: AbortController, message: ToView): void {
    if (this.#running.get(id) !== abort) return;
    this.#running.delete(id);
    this.#waiting.delete(id);
    this.#post(message);
  }
}

/** Yields the items of an iterator in batches: those that are there without waiting, at most MAX_ITEMS. */
async function* batches<T>(items: AsyncIterableIterator<T>): AsyncGenerator<T[]> {
  let next = items.next();
  for (;;) {
    const batch: T[] = [];
    let result = await next;
    while (!result.done) {
      batch.push(result.value);
      next = items.next();
      if (batch.length >= MAX_ITEMS) break;
      const ready = await Promise.race([next, NOTHING]);
      if (ready === undefined) break;
      result = ready;
    }
    if (batch.length > 0) yield batch;
    if (result.done) return;
  }
}

/** Loses a race against a promise that is settled already. */
const NOTHING = Promise.resolve(undefined);
