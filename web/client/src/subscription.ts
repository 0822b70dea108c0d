import { delay } from './backoff.js';
import { ClientClosed, ConnectionLost, LimitExceeded, RpcError } from './errors.js';
import type { Claim } from './handlers.js';
import type { Link } from './link.js';
import { ErrorCode, type AttachResult, type AvailableCommand, type Position, type SessionEventNotification, type Update } from './protocol.js';

/** A receiver of a session's events. Its methods must not throw. */
export interface Listener {
  /** The position of the last event it received; null if it needs a snapshot. Updated by the subscription. */
  position: Position | null;
  /** Whether it receives the messages that this client adds. */
  readonly own?: boolean;
  /** Receives the current state, which replaces everything received before. */
  snapshot(state: AttachResult): void;
  update(update: Update, size: number): void;
  event(event: SessionEventNotification, size: number): void;
  /** Receives the output of a slash command, which is no event of the session. */
  output?(update: Update, promptId: unknown): void;
  /** Receives the slash commands, which are no event of the session. */
  commands?(commands: AvailableCommand[]): void;
  /** No more events follow. */
  ended(error?: Error): void;
}

/** The state of delivery to a listener. */
interface Delivery {
  /** It receives the events of this connection. */
  live: boolean;
  /** It received a snapshot and nothing since: text without a sequence number belongs to the snapshot. */
  fresh: boolean;
  /** It receives nothing until it resumes. */
  paused: boolean;
  /** The sequence number of the newest event when it became live. */
  goal: number;
}

/** Temporary errors of `attach`. */
const PASSING: number[] = [ErrorCode.busy, ErrorCode.internal, ErrorCode.storage];

/**
 * This client's subscription to a session: one position in the session's events on the server, and any number of
 * listeners, each with its own position. Every listener receives each event once and in order; if that is not possible,
 * it receives a snapshot.
 *
 * A server sends the events of a subscription without gaps in their sequence numbers. If there is a gap, or if an event
 * covers several numbers of which a listener has seen only some, the subscription attaches again.
 */
export class Subscription {
  readonly sessionId: string;
  readonly #link: Link;
  readonly #left: () => void;
  readonly #claim: Claim;
  readonly #listeners = new Map<Listener, Delivery>();
  #attaching = false;
  #attached = false;
  #generation = 0; // of the connection: responses of earlier ones are ignored
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `left` is called when there are no more listeners. `claim` is sent with each attach. */
  constructor(link: Link, sessionId: string, left: () => void, claim: Claim) {
    this.#link = link;
    this.#claim = claim;
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

  /** Adds a listener for events from now on. Returns false if that would need a request to the server. */
  join(listener: Listener): boolean {
    for (const [{ position }, { live }] of this.#listeners) {
      if (!live || !position) continue;
      listener.position = { ...position };
      this.#listeners.set(listener, { live: true, fresh: false, paused: false, goal: position.seq });
      return true;
    }
    return false;
  }

  /** Stops delivery to a slow listener until `resume`, which sends it a snapshot. */
  pause(listener: Listener): void {
    const delivery = this.#listeners.get(listener);
    if (!delivery) return;
    listener.position = null;
    delivery.live = false;
    delivery.paused = true;
  }

  resume(listener: Listener): void {
    const delivery = this.#listeners.get(listener);
    if (!delivery) return;
    delivery.paused = false;
    this.#sync();
  }

  /** Whether a listener has received all events from before it became live on this connection. */
  caughtUp(listener: Listener): boolean {
    const delivery = this.#listeners.get(listener);
    return delivery?.live === true && listener.position !== null && listener.position.seq >= delivery.goal;
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
    for (const delivery of this.#listeners.values()) delivery.live = false;
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
    if (typeof meta.command === 'string') {
      for (const listener of [...this.#listeners.keys()]) listener.output?.(params.update, meta.promptId);
      return;
    }
    if (params.update.sessionUpdate === 'available_commands_update') {
      if (!Array.isArray(params.update.availableCommands)) return;
      for (const listener of [...this.#listeners.keys()]) listener.commands?.(params.update.availableCommands);
      return;
    }
    if (typeof meta.seq !== 'number') {
      this.#unnumbered(params.update, meta.epoch, size);
      return;
    }
    this.#distribute(meta, (listener) => {
      if (meta.own !== true || listener.own) listener.update(params.update, size);
    });
  }

  happened(params: any, size: number): void {
    if (typeof params.type !== 'string' || typeof params.epoch !== 'string') return;
    if (params.type === 'unsubscribed') {
      this.end(new LimitExceeded('the server ended the subscription: the connection has too many'));
      return;
    }
    if (typeof params.seq !== 'number') return;
    if (params.type === 'resynced') {
      for (const [listener, delivery] of this.#listeners) if (delivery.live) this.#invalidate(listener, delivery);
      this.#sync();
      return;
    }
    this.#distribute(params, (listener) => listener.event(params, size));
    if (params.type === 'closed') this.#closed(params.reason);
  }

  /** Delivers an event to the listeners that have received all events before it. */
  #distribute(at: { epoch: string; seq: number; first?: unknown }, tell: (listener: Listener) => void): void {
    const first = typeof at.first === 'number' ? at.first : at.seq;
    for (const [listener, delivery] of [...this.#listeners]) {
      const { position } = listener;
      if (!delivery.live || !position) continue;
      if (position.epoch === at.epoch && at.seq <= position.seq) continue;
      if (position.epoch === at.epoch && first === position.seq + 1) {
        delivery.fresh = false;
        listener.position = { epoch: at.epoch, seq: at.seq };
        tell(listener);
        continue;
      }
      if (position.epoch === at.epoch && first > position.seq) delivery.live = false;
      else this.#invalidate(listener, delivery);
    }
    this.#sync();
  }

  #unnumbered(update: Update, epoch: string, size: number): void {
    for (const [listener, delivery] of [...this.#listeners]) {
      if (delivery.live && delivery.fresh && listener.position?.epoch === epoch) listener.update(update, size);
    }
  }

  /** The listener cannot continue from its position: it needs a snapshot. */
  #invalidate(listener: Listener, delivery: Delivery): void {
    listener.position = null;
    delivery.live = false;
  }

  /** The session was unloaded. After a shutdown, the next server continues it. */
  #closed(reason: unknown): void {
    this.#attached = false;
    if (reason !== 'shutdown') return this.end();
    for (const delivery of this.#listeners.values()) delivery.live = false;
    this.#retry();
  }

  #waiting(): [Listener, Delivery][] {
    return [...this.#listeners].filter(([, delivery]) => !delivery.live && !delivery.paused);
  }

  /** Attaches if a listener is waiting for that. */
  #sync(): void {
    if (this.#attaching || !this.#link.open || this.#waiting().length === 0) return;
    const since = this.#since();
    const served = [...this.#listeners.keys()];
    const own = served.some((listener) => listener.own);
    const generation = this.#generation;
    this.#attaching = true;
    clearTimeout(this.#timer);
    const settle = (error: Error | null, result?: AttachResult) => {
      if (generation !== this.#generation) return;
      this.#attaching = false;
      if (error || !isAttached(result)) return this.#failed(error ?? new Error('the response to attach is invalid'));
      this.#failures = 0;
      this.#attached = true;
      if (result.complete && since) this.#continue(result, since, served);
      else this.#restart(result, own);
      this.#sync();
    };
    this.#link.request('_strata/session/attach', { sessionId: this.sessionId, ...since, ...(own ? { own } : {}), ...this.#claim }, settle, true);
  }

  /** The position from which all listeners can continue, or null. */
  #since(): { epoch: string; after: number } | null {
    const active = [...this.#listeners].filter(([, delivery]) => !delivery.paused).map(([listener]) => listener.position);
    const [some] = active;
    if (!some || active.some((position) => position?.epoch !== some.epoch)) return null;
    return { epoch: some.epoch, after: Math.min(...active.map((position) => position!.seq)) };
  }

  #continue(result: AttachResult, since: { epoch: string; after: number }, served: Listener[]): void {
    for (const listener of served) {
      const delivery = this.#listeners.get(listener);
      const { position } = listener;
      if (!delivery || delivery.live || delivery.paused) continue;
      if (!position || position.epoch !== since.epoch || position.seq < since.after) continue;
      delivery.live = true;
      delivery.goal = result.seq;
    }
  }

  /**
   * Delivers the snapshot, except to listeners that are exactly at its position, and to those that want the messages of this
   * client after an attach that did not ask for them.
   */
  #restart(result: AttachResult, own: boolean): void {
    const { epoch, seq } = result;
    for (const [listener, delivery] of [...this.#listeners]) {
      if (delivery.paused || (listener.own && !own)) continue;
      delivery.live = true;
      delivery.goal = seq;
      if (listener.position?.epoch === epoch && listener.position.seq === seq) continue;
      delivery.fresh = true;
      listener.position = { epoch, seq };
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

/** Ends the connection's subscription to a session, as the server limits their number. Urgent like attach, to stay in order. */
export function unsubscribe(link: Link, sessionId: string): void {
  link.request('_strata/session/detach', { sessionId, unsubscribe: true }, () => {}, true);
}

function isAttached(result: any): result is AttachResult {
  if (typeof result?.epoch !== 'string' || typeof result.seq !== 'number') return false;
  return result.complete === true || Array.isArray(result.snapshot?.messages);
}
