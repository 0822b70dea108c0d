import * as vscode from 'vscode';
import type { Budget, Client, SessionEvent, Totals } from '@strata/client';

/** The events after which the figures of a session may differ. */
const FIGURES = new Set(['turn_finished', 'context_changed', 'compaction', 'files_changed', 'config_changed', 'resynced']);

/**
 * The session of the chat. The window watches it also while the chat is hidden: its requests for files, terminals and
 * permission come on this connection, and the status bar shows its figures.
 */
export class CurrentSession implements vscode.Disposable {
  readonly #state: vscode.Memento;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #figures = new vscode.EventEmitter<void>();
  readonly #received = new vscode.EventEmitter<SessionEvent>();
  #client: Client | undefined;
  #id: string | null;
  #abort = new AbortController();
  #budget: Budget | undefined;
  #totals: Totals | undefined;

  /** There is another session, or none. */
  readonly onDidChange = this.#changed.event;
  readonly onDidChangeFigures = this.#figures.event;
  /** An event of the session. */
  readonly onDidReceive = this.#received.event;

  constructor(state: vscode.Memento) {
    this.#state = state;
    this.#id = state.get<string>(REMEMBERED) ?? null;
  }

  get id(): string | null {
    return this.#id;
  }

  get budget(): Budget | undefined {
    return this.#budget;
  }

  get totals(): Totals | undefined {
    return this.#totals;
  }

  open(id: string | null): void {
    if (this.#id === id) return;
    this.#id = id;
    void this.#state.update(REMEMBERED, id ?? undefined);
    this.#watch();
    this.#changed.fire();
  }

  /** Follows a client, in place of an earlier one. */
  follow(client: Client | undefined): void {
    this.#client = client;
    this.#watch();
  }

  dispose(): void {
    this.#abort.abort();
    this.#changed.dispose();
    this.#figures.dispose();
    this.#received.dispose();
  }

  #watch(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#budget = this.#totals = undefined;
    this.#figures.fire();
    if (this.#client && this.#id !== null) void this.#follow(this.#client, this.#id, this.#abort.signal);
  }

  async #follow(client: Client, id: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of client.session(id).watch({ signal })) {
        this.#received.fire(event);
        if (changesFigures(event)) void this.#read(client, id, signal);
      }
    } catch {
      if (!signal.aborted && this.#id === id) this.open(null); // it was deleted
    }
  }

  async #read(client: Client, sessionId: string, signal: AbortSignal): Promise<void> {
    try {
      const [budget, { totals }] = await Promise.all([
        client.call('_strata/context/budget', { sessionId }, { signal }),
        client.call('_strata/session/info', { sessionId }, { signal }),
      ]);
      this.#budget = budget;
      this.#totals = totals;
      this.#figures.fire();
    } catch {
      // a snapshot follows when the connection is back
    }
  }
}

const changesFigures = (event: SessionEvent): boolean => event.type === 'snapshot' || (event.type === 'event' && FIGURES.has(event.event.type));

/** The name under which the workspace remembers the session. */
const REMEMBERED = 'session';
