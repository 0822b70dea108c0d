import type { SessionEvent, WatchOptions } from './api.js';
import type { Feed, Listener } from './feed.js';
import type { Feeds } from './feeds.js';
import type { AttachResult, Place, SessionEventNotification, Update } from './protocol.js';
import { Queue } from './queue.js';

/** The most events that wait for a consumer, and the most characters of their frames. */
export const MAX_EVENTS = 4_096;
export const MAX_EVENT_CHARS = 16 << 20;

/**
 * A consumer of a session's events. Pieces of one text that wait are put together. When more waits than the bounds allow,
 * all of it is dropped and a snapshot takes its place, fetched when the consumer asks for it.
 */
export class Watcher implements Listener {
  readonly events: Queue<SessionEvent>;
  place: Place | null;

  readonly #feed: Feed | null = null;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#leave();
  #chars = 0;
  #lags = false;

  constructor(feeds: Feeds, sessionId: string, { signal, after }: WatchOptions) {
    this.#signal = signal;
    this.place = after ? { ...after } : null;
    this.events = new Queue(
      () => this.#leave(),
      () => this.#asked(),
    );
    if (signal?.aborted) {
      this.events.end();
      return;
    }
    signal?.addEventListener('abort', this.#abort);
    this.#feed = feeds.add(sessionId, this);
  }

  snapshot({ epoch, seq, running, snapshot }: AttachResult): void {
    this.#drop();
    this.events.push({ type: 'snapshot', epoch, seq, running, snapshot: snapshot! });
  }

  update(update: Update, size: number): void {
    const place = this.place!;
    const last = this.events.last;
    const longer = last?.type === 'update' && last.epoch === place.epoch ? joined(last.update, update) : null;
    if (longer) {
      if (this.#takes(size, 0)) this.events.last = { type: 'update', update: longer, ...place };
      return;
    }
    if (this.#takes(size, 1)) this.events.push({ type: 'update', update, ...place });
  }

  event(event: SessionEventNotification, size: number): void {
    if (this.#takes(size, 1)) this.events.push({ type: 'event', event, ...this.place! });
  }

  ended(error?: Error): void {
    this.#signal?.removeEventListener('abort', this.#abort);
    this.events.end(error);
  }

  /** Makes room for an event, or drops them all. */
  #takes(size: number, count: number): boolean {
    const none = this.events.length === 0;
    if (none) this.#chars = 0;
    if (none || (this.events.length + count <= MAX_EVENTS && this.#chars + size <= MAX_EVENT_CHARS)) {
      this.#chars += size;
      return true;
    }
    this.#drop();
    this.#lags = true;
    this.#feed?.pause(this);
    return false;
  }

  #drop(): void {
    this.events.clear();
    this.#chars = 0;
  }

  #asked(): void {
    if (!this.#lags) return;
    this.#lags = false;
    this.#feed?.resume(this);
  }

  #leave(): void {
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#feed?.remove(this);
    this.#drop();
    this.events.end();
  }
}

/** Two pieces of one text as one, or null where they are none. */
export function joined(a: Update, b: Update): Update | null {
  if (a.sessionUpdate !== 'agent_message_chunk' && a.sessionUpdate !== 'agent_thought_chunk') return null;
  if (b.sessionUpdate !== a.sessionUpdate || b.messageId !== a.messageId) return null;
  if (a.content?.type !== 'text' || b.content?.type !== 'text') return null;
  return { ...a, content: { type: 'text', text: a.content.text + b.content.text } };
}
