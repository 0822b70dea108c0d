import * as vscode from 'vscode';
import { ErrorCode, RpcError, type Budget, type Client, type SessionEvent, type Totals } from '@strata/client';
import { Refresh } from '../refresh.js';

/** The events after which the figures of a session may differ. */
const FIGURES = new Set(['turn_started', 'turn_finished', 'context_changed', 'compaction', 'files_changed', 'tiers_changed', 'config_changed', 'resynced']);

/**
 * The session of the chat. The window watches it also while the chat is hidden: its requests for files, terminals and
 * permission come on this connection, and the status bar shows its figures.
 */
export class CurrentSession implements vscode.Disposable {
  readonly #state: vscode.Memento;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #context = new vscode.EventEmitter<void>();
  readonly #figures = new vscode.EventEmitter<void>();
  readonly #received = new vscode.EventEmitter<SessionEvent>();
  readonly #refresh = new Refresh(() => this.#read());
  #client: Client | undefined;
  #id: string | null;
  #abort = new AbortController();
  /** The session has ended, because another client closed it: its events follow when it is opened again. */
  #hasEnded = false;
  #budget: Budget | undefined;
  #totals: Totals | undefined;

  /** There is another session, or none. */
  readonly onDidChange = this.#changed.event;
  /** The next request may be another one. */
  readonly onDidChangeContext = this.#context.event;
  readonly onDidChangeFigures = this.#figures.event;
  /** An event of the session. */
  readonly onDidReceive = this.#received.event;

  constructor(state: vscode.Memento) {
    this.#state = state;
    this.#id = state.get<string>(REMEMBERED) ?? null;
    this.#setCondition();
  }

  get client(): Client | undefined {
    return this.#client;
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
    if (this.#id === id) {
      if (this.#hasEnded) this.#watch();
      return;
    }
    this.#id = id;
    void this.#state.update(REMEMBERED, id ?? undefined);
    this.#setCondition();
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
    this.#context.dispose();
    this.#figures.dispose();
    this.#received.dispose();
  }

  /** Sets the condition `strata.hasSession` of menus and views. */
  #setCondition(): void {
    void vscode.commands.executeCommand('setContext', 'strata.hasSession', this.#id !== null);
  }

  #watch(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#hasEnded = false;
    this.#budget = this.#totals = undefined;
    this.#figures.fire();
    if (this.#client && this.#id !== null) void this.#follow(this.#client, this.#id, this.#abort.signal);
  }

  async #follow(client: Client, id: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of client.session(id).watch({ signal })) {
        this.#received.fire(event);
        if (!changesFigures(event)) continue;
        this.#refresh.request();
        this.#context.fire();
      }
      if (!signal.aborted) this.#hasEnded = true;
    } catch (error) {
      if (!signal.aborted && isMissing(error)) this.open(null); // other errors are those of the connection: another client follows
    }
  }

  async #read(): Promise<void> {
    const client = this.#client;
    const sessionId = this.#id;
    const { signal } = this.#abort;
    if (!client || sessionId === null) return;
    try {
      const [budget, { totals }] = await Promise.all([
        client.call('_strata/context/budget', { sessionId }, { signal }),
        client.call('_strata/session/info', { sessionId }, { signal }),
      ]);
      if (signal.aborted) return;
      this.#budget = budget;
      this.#totals = totals;
      this.#figures.fire();
    } catch {
      // a snapshot follows when the connection is back
    }
  }
}

/** Reports whether the server does not have the session, because it was deleted. */
const isMissing = (error: unknown): boolean => error instanceof RpcError && error.code === ErrorCode.notFound;

const changesFigures = (event: SessionEvent): boolean => event.type === 'snapshot' || (event.type === 'event' && FIGURES.has(event.event.type));

/** The name under which the workspace remembers the session. */
const REMEMBERED = 'session';
