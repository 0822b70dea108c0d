import type { CallOptions, ServerEvent } from './api.js';
import { ClientClosed, ConnectionLost } from './errors.js';
import type { Link } from './link.js';
import { Queue } from './queue.js';

/** The maximum number of queued events per consumer; above it, they are replaced by one `reset`. */
export const MAX_NEWS = 4_096;

/** The events of all sessions, for any number of consumers. */
export class ServerEvents {
  readonly #link: Link;
  readonly #consumers = new Set<Queue<ServerEvent>>();

  constructor(link: Link) {
    this.#link = link;
  }

  subscribe({ signal }: CallOptions): AsyncIterableIterator<ServerEvent> {
    const leave = () => {
      signal?.removeEventListener('abort', abort);
      this.#consumers.delete(queue);
    };
    const queue = new Queue<ServerEvent>(leave);
    const abort = () => void queue.return();
    if (signal?.aborted) {
      queue.end();
      return queue;
    }
    signal?.addEventListener('abort', abort);
    this.#consumers.add(queue);
    this.#ask([queue], 'counts');
    return queue;
  }

  up(): void {
    if (this.#consumers.size > 0) this.#ask([...this.#consumers], 'resubscribed', true);
  }

  end(error?: Error): void {
    for (const queue of this.#consumers) queue.end(error);
    this.#consumers.clear();
  }

  notified(event: any): void {
    if (typeof event.type !== 'string') return;
    for (const queue of this.#consumers) deliver(queue, event);
  }

  /** Subscribes, which can be repeated, and sends the consumers the counts. */
  #ask(consumers: Queue<ServerEvent>[], type: 'counts' | 'resubscribed', urgent = false): void {
    const settle = (error: Error | null, result?: any) => {
      if (error instanceof ConnectionLost) return; // the next connection subscribes
      for (const queue of consumers) {
        if (error) {
          this.#consumers.delete(queue);
          queue.end(error instanceof ClientClosed ? undefined : error);
        } else if (this.#consumers.has(queue)) deliver(queue, { type, counts: result.counts });
      }
    };
    this.#link.request('_strata/server/subscribe', {}, settle, urgent);
  }
}

function deliver(queue: Queue<ServerEvent>, event: ServerEvent): void {
  if (queue.length < MAX_NEWS) return queue.push(event);
  queue.clear();
  queue.push({ type: 'reset' });
}
