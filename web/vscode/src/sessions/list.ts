import * as vscode from 'vscode';
import { pages, type Activity, type BudgetState, type Client, type ServerEvent, type SessionInfo } from '@strata/client';

/** An entry of the list of sessions. */
export interface Listed {
  info: SessionInfo;
  /** Its state, "" if idle. */
  state: string;
  activity?: Activity | undefined;
}

/** Number of pages that are loaded first; `loadMore` loads further ones. */
const FIRST_PAGES = 4;

/** The sessions of the server, kept up to date by its events. */
export class SessionList implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #ended = new vscode.EventEmitter<string>();
  readonly #budget = new vscode.EventEmitter<BudgetState & { text: string }>();
  #sessions = new Map<string, Listed>();
  #client: Client | undefined;
  /** The cursor of the next page; undefined after the last. */
  #next: string | undefined;
  #pages = FIRST_PAGES;
  #abort = new AbortController();

  readonly onDidChange = this.#changed.event;
  /** A turn of a session has ended. */
  readonly onDidEndTurn = this.#ended.event;
  /** A budget has reached a threshold. `text` is the warning. */
  readonly onDidReachBudget = this.#budget.event;

  /** The sessions, the one that was used last first. */
  get sessions(): Listed[] {
    return [...this.#sessions.values()].sort((a, b) => (a.info.updatedAt < b.info.updatedAt ? 1 : -1));
  }

  /** Whether the server has more sessions than the list. */
  get hasMore(): boolean {
    return this.#next !== undefined;
  }

  get(id: string): Listed | undefined {
    return this.#sessions.get(id);
  }

  /** Follows a client, in place of an earlier one. */
  follow(client: Client | undefined): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#client = client;
    this.#sessions = new Map();
    this.#next = undefined;
    this.#changed.fire();
    if (client) void this.#follow(client, this.#abort.signal);
  }

  /** Loads the next page. */
  async loadMore(): Promise<void> {
    const cursor = this.#next;
    if (!this.#client || cursor === undefined) return;
    const page = await this.#client.call('session/list', { cursor }, { signal: this.#abort.signal });
    if (this.#next !== cursor) return; // the list was loaded again meanwhile
    for (const info of page.sessions) this.#sessions.set(info.sessionId, listed(info));
    this.#next = page.nextCursor;
    this.#pages++;
    this.#changed.fire();
  }

  dispose(): void {
    this.#abort.abort();
    this.#changed.dispose();
    this.#ended.dispose();
    this.#budget.dispose();
  }

  async #follow(client: Client, signal: AbortSignal): Promise<void> {
    const events = client.serverEvents({ signal });
    void this.#load(client, signal);
    try {
      for await (const event of events) this.#take(event, client, signal);
    } catch {
      // the server refuses the connection: another client follows
    }
  }

  #take(event: ServerEvent, client: Client, signal: AbortSignal): void {
    switch (event.type) {
      case 'created':
      case 'renamed':
        return this.#put(event.session);
      case 'deleted':
        this.#sessions.delete(event.sessionId);
        return this.#changed.fire();
      case 'state': {
        const known = this.#sessions.get(event.sessionId);
        const state = event.state === 'idle' || event.state === 'closed' ? '' : event.state;
        if (known) {
          this.#sessions.set(event.sessionId, { ...known, state, activity: event.activity });
          this.#changed.fire();
        }
        if (event.state === 'idle') {
          this.#ended.fire(event.sessionId);
          void this.#touch(client, event.sessionId, signal);
        }
        return;
      }
      case 'budget':
        return this.#budget.fire({ ...event.budget, text: event.text });
      case 'reset':
      case 'resubscribed':
        return void this.#load(client, signal);
    }
  }

  /** Replaces the list by that of the server, as far as it was loaded. */
  async #load(client: Client, signal: AbortSignal): Promise<void> {
    try {
      const found = new Map<string, Listed>();
      let left = this.#pages;
      let next: string | undefined;
      for await (const page of pages(client, 'session/list', {}, { signal })) {
        for (const info of page.sessions) found.set(info.sessionId, listed(info));
        next = page.nextCursor;
        if (--left <= 0) break;
      }
      this.#sessions = found;
      this.#next = next;
      this.#changed.fire();
    } catch {
      // the connection was lost: the list is loaded again when it is back
    }
  }

  /** Updates the time of a session, which moves it up, also from a page that is not loaded. */
  async #touch(client: Client, sessionId: string, signal: AbortSignal): Promise<void> {
    try {
      this.#put((await client.call('_strata/session/info', { sessionId }, { signal })).session);
    } catch {
      // deleted meanwhile: an event removes it
    }
  }

  #put(info: SessionInfo): void {
    const told = listed(info);
    const known = this.#sessions.get(info.sessionId);
    this.#sessions.set(info.sessionId, told.state === '' && known ? { ...known, info } : told);
    this.#changed.fire();
  }
}

const listed = (info: SessionInfo): Listed => ({ info, state: info._meta?.strata?.state ?? '', activity: info._meta?.strata?.activity });

/** Returns the title of a session in a list or in the results of a search. */
export const titleOf = ({ title }: { title?: string | null }): string => title || vscode.l10n.t('Untitled session');
