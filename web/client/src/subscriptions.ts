import type { Claim } from './handlers.js';
import { Subscription, type Listener } from './subscription.js';
import type { Link } from './link.js';

/** The subscriptions to all sessions with listeners. */
export class Subscriptions {
  readonly #link: Link;
  readonly #subscriptions = new Map<string, Subscription>();
  #end: { error: Error | undefined } | null = null;

  readonly #claim: Claim;

  constructor(link: Link, claim: Claim = {}) {
    this.#link = link;
    this.#claim = claim;
  }

  /** Adds a listener to a session. It receives events from its position on, or a snapshot. */
  add(sessionId: string, listener: Listener): Subscription {
    let subscription = this.#subscriptions.get(sessionId);
    if (!subscription) {
      subscription = new Subscription(this.#link, sessionId, () => this.#forget(subscription!), this.#claim);
      if (!this.#end) this.#subscriptions.set(sessionId, subscription);
    }
    if (this.#end) listener.ended(this.#end.error);
    else subscription.add(listener);
    return subscription;
  }

  /** Adds a listener to a session for events from now on. Returns null if that would need a request to the server. */
  join(sessionId: string, listener: Listener): Subscription | null {
    const subscription = this.#subscriptions.get(sessionId);
    return subscription?.join(listener) ? subscription : null;
  }

  has(sessionId: string): boolean {
    return this.#subscriptions.has(sessionId);
  }

  up(): void {
    for (const subscription of [...this.#subscriptions.values()]) subscription.up();
  }

  down(): void {
    for (const subscription of [...this.#subscriptions.values()]) subscription.down();
  }

  end(error?: Error): void {
    this.#end = { error };
    for (const subscription of [...this.#subscriptions.values()]) subscription.end(error);
  }

  updated(params: any, size: number): void {
    this.#subscriptions.get(params.sessionId)?.updated(params, size);
  }

  happened(params: any, size: number): void {
    this.#subscriptions.get(params.sessionId)?.happened(params, size);
  }

  #forget(subscription: Subscription): void {
    if (this.#subscriptions.get(subscription.sessionId) === subscription) this.#subscriptions.delete(subscription.sessionId);
  }
}
