import { Feed, type Listener } from './feed.js';
import type { Link } from './link.js';

/** The feeds of the sessions that somebody listens to. */
export class Feeds {
  readonly #link: Link;
  readonly #feeds = new Map<string, Feed>();
  #end: { error: Error | undefined } | null = null;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Makes a listener hear of a session, from its place or with a snapshot. */
  add(sessionId: string, listener: Listener): Feed {
    let feed = this.#feeds.get(sessionId);
    if (!feed) {
      feed = new Feed(this.#link, sessionId, () => this.#forget(feed!));
      if (!this.#end) this.#feeds.set(sessionId, feed);
    }
    if (this.#end) listener.ended(this.#end.error);
    else feed.add(listener);
    return feed;
  }

  /** Makes a listener hear of a session from now on, if that can be done without asking the server. */
  join(sessionId: string, listener: Listener): Feed | null {
    const feed = this.#feeds.get(sessionId);
    return feed?.join(listener) ? feed : null;
  }

  has(sessionId: string): boolean {
    return this.#feeds.has(sessionId);
  }

  up(): void {
    for (const feed of [...this.#feeds.values()]) feed.up();
  }

  down(): void {
    for (const feed of [...this.#feeds.values()]) feed.down();
  }

  end(error?: Error): void {
    this.#end = { error };
    for (const feed of [...this.#feeds.values()]) feed.end(error);
  }

  updated(params: any, size: number): void {
    this.#feeds.get(params.sessionId)?.updated(params, size);
  }

  happened(params: any, size: number): void {
    this.#feeds.get(params.sessionId)?.happened(params, size);
  }

  #forget(feed: Feed): void {
    if (this.#feeds.get(feed.sessionId) === feed) this.#feeds.delete(feed.sessionId);
  }
}
