import type { SessionEvent, WatchOptions } from './api.js';
import type { Subscription, Listener } from './subscription.js';
import type { Subscriptions } from './subscriptions.js';
import type { AttachResult, AvailableCommand, Position, SessionEventNotification, ToolCallUpdate, Update } from './protocol.js';
import { Queue } from './queue.js';

/** The maximum number of queued events, and of the characters of their frames. */
export const MAX_EVENTS = 4_096;
export const MAX_EVENT_CHARS = 16 << 20;

/**
 * A consumer of a session's events. Queued chunks of one text are joined. If the queue exceeds its limits, it is replaced
 * by a snapshot, which is fetched when the consumer asks for the next event.
 */
export class Watcher implements Listener {
  readonly events: Queue<SessionEvent>;
  readonly own: boolean;
  position: Position | null;

  readonly #subscription: Subscription | null = null;
  readonly #signal: AbortSignal | undefined;
  readonly #wantsCommands: boolean;
  readonly #abort = () => this.#leave();
  #chars = 0;
  #lastChars = 0; // of the newest event
  #lags = false;

  constructor(subscriptions: Subscriptions, sessionId: string, { signal, after, commands, own }: WatchOptions) {
    this.#signal = signal;
    this.own = own === true;
    this.#wantsCommands = commands === true;
    this.position = after ? { ...after } : null;
    this.events = new Queue(
      () => this.#leave(),
      () => this.#asked(),
    );
    if (signal?.aborted) {
      this.events.end();
      return;
    }
    signal?.addEventListener('abort', this.#abort);
    this.#subscription = subscriptions.add(sessionId, this);
  }

  snapshot({ epoch, seq, running, snapshot }: AttachResult): void {
    this.#drop();
    this.events.push({ type: 'snapshot', epoch, seq, running, snapshot: snapshot! });
  }

  update(update: Update, size: number): void {
    const position = this.position!;
    const last = this.events.last;
    const longer = last?.type === 'update' && last.epoch === position.epoch ? joined(last.update, update) : null;
    if (longer) {
      const replaced = longer === update ? this.#lastChars : 0;
      if (this.#takes(size - replaced, 0)) this.events.last = { type: 'update', update: longer, ...position };
      return;
    }
    if (this.#takes(size, 1)) this.events.push({ type: 'update', update, ...position });
  }

  event(event: SessionEventNotification, size: number): void {
    if (this.#takes(size, 1)) this.events.push({ type: 'event', event, ...this.position! });
  }

  commands(commands: AvailableCommand[]): void {
    if (!this.#wantsCommands || !this.position) return;
    if (this.#takes(0, 1)) this.events.push({ type: 'commands', commands, ...this.position });
  }

  ended(error?: Error): void {
    this.#signal?.removeEventListener('abort', this.#abort);
    this.events.end(error);
  }

  /**
   * Reserves room for an event, or with a count of 0 for a longer form of the newest one. If there is none, drops all events,
   * pauses the subscription and returns false.
   */
  #takes(size: number, count: number): boolean {
    const none = this.events.length === 0;
    if (none) this.#chars = 0;
    if (none || (this.events.length + count <= MAX_EVENTS && this.#chars + size <= MAX_EVENT_CHARS)) {
      this.#chars += size;
      this.#lastChars = count > 0 ? size : this.#lastChars + size;
      return true;
    }
    this.#drop();
    this.#lags = true;
    this.#subscription?.pause(this);
    return false;
  }

  #drop(): void {
    this.events.clear();
    this.#chars = 0;
  }

  #asked(): void {
    if (!this.#lags) return;
    this.#lags = false;
    this.#subscription?.resume(this);
  }

  #leave(): void {
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#subscription?.remove(this);
    this.#drop();
    this.events.end();
  }
}

/** Joins two chunks of one text, or two states of a running call's output; returns null if they do not belong together. */
export function joined(a: Update, b: Update): Update | null {
  if (a.sessionUpdate === 'tool_call_update') return isOutputOf(a, b) ? b : null;
  if (a.sessionUpdate !== 'agent_message_chunk' && a.sessionUpdate !== 'agent_thought_chunk') return null;
  if (b.sessionUpdate !== a.sessionUpdate || b.messageId !== a.messageId) return null;
  if (a.content?.type !== 'text' || b.content?.type !== 'text') return null;
  return { ...a, content: { type: 'text', text: a.content.text + b.content.text } };
}

/** Reports whether b is a later state of the output in a, and says all that a says. */
function isOutputOf(a: ToolCallUpdate, b: Update): boolean {
  if (b.sessionUpdate !== 'tool_call_update' || b.toolCallId !== a.toolCallId) return false;
  if (!a._meta?.strata?.output || !b._meta?.strata?.output || a.status !== b.status) return false;
  return Object.keys(a).every((name) => name in b);
}
