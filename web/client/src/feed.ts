import { delay } from './backoff.js';
import { ClientClosed, ConnectionLost, RpcError } from './errors.js';
import type { Link } from './link.js';
import { ErrorCode, type AttachResult, type Place, type SessionEventNotification, type Update } from './protocol.js';

/** Who is told of a session's events. Its methods must not throw. */
export interface Listener {
  /** What it has seen; null where it needs a snapshot. The feed moves it on. */
  place: Place | null;
  /** It takes the present state in the place of all it was told. */
  snapshot(state: AttachResult): void;
  update(update: Update, size: number): void;
  event(event: SessionEventNotification, size: number): void;
  /** There is nothing more to tell. */
  ended(error?: Error): void;
}

/** How a listener stands. */
interface Standing {
  /** It is told what comes on this connection. */
  live: boolean;
  /** It got a snapshot and nothing since: text without a number belongs to that. */
  fresh: boolean;
  /** It wants nothing for now. */
  paused: boolean;
  /** The number of the newest event when it became live. */
  goal: number;
}

/** Errors of `attach` that may be gone a moment later. */
const PASSING: number[] = [ErrorCode.busy, ErrorCode.internal, ErrorCode.storage];

/**
 * A session as this client is attached to it: one place in the session's events on the server, and any number of listeners
 * that each have seen what they have seen. Every listener gets each event once and in order; one that cannot gets a snapshot.
 *
 * A server sends the events of an attached connection without a gap in their numbers. Where there is one all the same, or
 * where an event stands for some that a listener has seen and for some that it has not, the place is set anew.
 */
export class Feed {
  readonly sessionId: string;
  readonly #link: Link;
  readonly #left: () => void;
  readonly #listeners = new Map<Listener, Standing>();
  #attaching = false;
  #attached = false;
  #generation = 0; // of the connection: answers of an earlier one do not count
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `left` is called when nobody listens any more. */
  constructor(link: Link, sessionId: string, left: () => void) {
    this.#link = link;
    this.sessionId = sessionId;
    this.#left = left;
  }

  add(listener: Listener): void {
    this.#listeners.set(listener, { live: false, fresh: false, paused: false, goal: 0 });
    this.#sync();
  }

  remove(listener: Listener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    clearTimeout(this.#timer);
    if ((this.#attached || this.#attaching) && this.#link.open) unsubscribe(this.#link, this.sessionId);
    this.#generation++;
    this.#attached = this.#attaching = false;
    this.#left();
  }

  /** Adds a listener that is told what comes from now on, if that can be done without asking the server. */
  join(listener: Listener): boolean {
    for (const [{ place }, { live }] of this.#listeners) {
      if (!live || !place) continue;
      listener.place = { ...place };
      this.#listeners.set(listener, { live: true, fresh: false, paused: false, goal: place.seq });
      return true;
    }
    return false;
  }

  /** A listener that is too slow is told nothing until it asks for a snapshot. */
  pause(listener: Listener): void {
    const standing = this.#listeners.get(listener);
    if (!standing) return;
    listener.place = null;
    standing.live = false;
    standing.paused = true;
  }

  resume(listener: Listener): void {
    const standing = this.#listeners.get(listener);
    if (!standing) return;
    standing.paused = false;
    this.#sync();
  }

  /** Whether a listener was told all that had happened when the connection began. */
  caughtUp(listener: Listener): boolean {
    const standing = this.#listeners.get(listener);
    return standing?.live === true && listener.place !== null && listener.place.seq >= standing.goal;
  }

  up(): void {
    this.down();
    this.#sync();
  }

  down(): void {
    this.#generation++;
    this.#attaching = this.#attached = false;
    this.#failures = 0;
    clearTimeout(this.#timer);
    for (const standing of this.#listeners.values()) standing.live = false;
  }

  end(error?: Error): void {
    this.#generation++;
    clearTimeout(this.#timer);
    const listeners = [...this.#listeners.keys()];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(error);
    this.#left();
  }

  updated(params: any, size: number): void {
    const meta = params._meta?.strata;
    if (typeof params.update?.sessionUpdate !== 'string' || typeof meta?.epoch !== 'string') return;
    if (typeof meta.seq !== 'number') {
      this.#unnumbered(params.update, meta.epoch, size);
      return;
    }
    this.#each(meta, (listener) => listener.update(params.update, size));
  }

  happened(params: any, size: number): void {
    if (typeof params.type !== 'string' || typeof params.epoch !== 'string' || typeof params.seq !== 'number') return;
    if (params.type === 'resynced') {
      for (const [listener, standing] of this.#listeners) if (standing.live) this.#lag(listener, standing);
      this.#sync();
      return;
    }
    this.#each(params, (listener) => listener.event(params, size));
    if (params.type === 'closed') this.#closed(params.reason);
  }

  /** Tells those who have seen all that was before. */
  #each(at: { epoch: string; seq: number; first?: unknown }, tell: (listener: Listener) => void): void {
    const first = typeof at.first === 'number' ? at.first : at.seq;
    for (const [listener, standing] of [...this.#listeners]) {
      const { place } = listener;
      if (!standing.live || !place) continue;
      if (place.epoch === at.epoch && at.seq <= place.seq) continue;
      if (place.epoch === at.epoch && first === place.seq + 1) {
        standing.fresh = false;
        listener.place = { epoch: at.epoch, seq: at.seq };
        tell(listener);
        continue;
      }
      if (place.epoch === at.epoch && first > place.seq) standing.live = false;
      else this.#lag(listener, standing);
    }
    this.#sync();
  }

  #unnumbered(update: Update, epoch: string, size: number): void {
    for (const [listener, standing] of [...this.#listeners]) {
      if (standing.live && standing.fresh && listener.place?.epoch === epoch) listener.update(update, size);
    }
  }

  /** The listener cannot go on from where it is. */
  #lag(listener: Listener, standing: Standing): void {
    listener.place = null;
    standing.live = false;
  }

  /** The session has left the server's memory. When the server shuts down, the next one goes on. */
  #closed(reason: unknown): void {
    this.#attached = false;
    if (reason !== 'shutdown') return this.end();
    for (const standing of this.#listeners.values()) standing.live = false;
    this.#retry();
  }

  #waiting(): [Listener, Standing][] {
    return [...this.#listeners].filter(([, standing]) => !standing.live && !standing.paused);
  }

  /** Attaches where somebody waits for that. */
  #sync(): void {
    if (this.#attaching || !this.#link.open || this.#waiting().length === 0) return;
    const since = this.#since();
    const served = [...this.#listeners.keys()];
    const generation = this.#generation;
    this.#attaching = true;
    clearTimeout(this.#timer);
    const settle = (error: Error | null, result?: AttachResult) => {
      if (generation !== this.#generation) return;
      this.#attaching = false;
      if (error || !isAttached(result)) return this.#failed(error ?? new Error('the answer to attach is of no use'));
      this.#failures = 0;
      this.#attached = true;
      if (result.complete && since) this.#goOn(result, since, served);
      else this.#startAnew(result);
      this.#sync();
    };
    this.#link.request('_strata/session/attach', { sessionId: this.sessionId, ...since }, settle, true);
  }

  /** From where all listeners can go on, null where one cannot. */
  #since(): { epoch: string; after: number } | null {
    const active = [...this.#listeners].filter(([, standing]) => !standing.paused).map(([listener]) => listener.place);
    const [some] = active;
    if (!some || active.some((place) => place?.epoch !== some.epoch)) return null;
    return { epoch: some.epoch, after: Math.min(...active.map((place) => place!.seq)) };
  }

  #goOn(result: AttachResult, since: { epoch: string; after: number }, served: Listener[]): void {
    for (const listener of served) {
      const standing = this.#listeners.get(listener);
      const { place } = listener;
      if (!standing || standing.live || standing.paused) continue;
      if (!place || place.epoch !== since.epoch || place.seq < since.after) continue;
      standing.live = true;
      standing.goal = result.seq;
    }
  }

  /** Those who have seen exactly what the snapshot shows need none. */
  #startAnew(result: AttachResult): void {
    const { epoch, seq } = result;
    for (const [listener, standing] of [...this.#listeners]) {
      if (standing.paused) continue;
      standing.live = true;
      standing.goal = seq;
      if (listener.place?.epoch === epoch && listener.place.seq === seq) continue;
      standing.fresh = true;
      listener.place = { epoch, seq };
      listener.snapshot(result);
    }
  }

  #failed(error: Error): void {
    if (error instanceof ConnectionLost || error instanceof ClientClosed) return;
    if (!(error instanceof RpcError) || PASSING.includes(error.code)) return this.#retry();
    for (const [listener] of this.#waiting()) {
      this.remove(listener);
      listener.ended(error);
    }
  }

  #retry(): void {
    this.#failures++;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#sync(), delay(this.#failures));
  }
}

/** Ends the connection's subscription of a session: a server bounds them. Urgent like attaching is, so that the two stay in order. */
export function unsubscribe(link: Link, sessionId: string): void {
  link.request('_strata/session/detach', { sessionId, unsubscribe: true }, () => {}, true);
}

function isAttached(result: any): result is AttachResult {
  if (typeof result?.epoch !== 'string' || typeof result.seq !== 'number') return false;
  return result.complete === true || Array.isArray(result.snapshot?.messages);
}
