import * as vscode from 'vscode';
import type { Client, FoundSession, SearchHit } from '@strata/client';
import type { Connection } from '../server/connection.js';
import { titleOf, type SessionList } from './list.js';
import { snippetOf } from './snippet.js';

/** Delay between the last keystroke and the search, in milliseconds. */
const DEBOUNCE_MS = 180;

/** Delay until a search is repeated that did not include all messages, in milliseconds. */
const REPEAT_MS = 1000;

/** Maximum number of sessions and of messages in the results. */
const LIMIT = 50;

type Item = vscode.QuickPickItem & { sessionId?: string };

/** The search in the titles, folders and messages of all sessions. */
export class SessionSearch {
  readonly #connection: Connection;
  readonly #list: SessionList;
  readonly #open: (id: string) => Promise<void>;

  constructor(connection: Connection, list: SessionList, open: (id: string) => Promise<void>) {
    this.#connection = connection;
    this.#list = list;
    this.#open = open;
  }

  readonly table = {
    searchSessions: () => this.#show(),
  };

  #show(): void {
    const client = this.#connection.required();
    const pick = vscode.window.createQuickPick<Item>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let abort = new AbortController();
    const search = (query: string, delay: number): void => {
      abort.abort();
      clearTimeout(timer);
      if (query.trim() === '') {
        pick.busy = false;
        pick.items = this.#recent();
        return;
      }
      const { signal } = (abort = new AbortController());
      pick.busy = true;
      timer = setTimeout(() => void find(client, query, signal).then(
        ({ items, behind }) => {
          pick.items = items;
          pick.busy = behind;
          if (behind) search(query, REPEAT_MS);
        },
        (error: unknown) => {
          if (signal.aborted) return;
          pick.busy = false;
          pick.items = [{ label: `$(error) ${error instanceof Error ? error.message : String(error)}`, alwaysShow: true }];
        },
      ), delay);
    };
    pick.title = vscode.l10n.t('Search Sessions');
    pick.placeholder = vscode.l10n.t('Search in titles, folders and messages');
    (pick as { sortByLabel?: boolean }).sortByLabel = false; // the order is the server's
    pick.items = this.#recent();
    pick.onDidChangeValue((query) => search(query, DEBOUNCE_MS));
    pick.onDidAccept(() => {
      const id = pick.selectedItems[0]?.sessionId;
      if (id === undefined) return;
      pick.hide();
      void this.#open(id);
    });
    pick.onDidHide(() => {
      abort.abort();
      clearTimeout(timer);
      pick.dispose();
    });
    pick.show();
  }

  #recent(): Item[] {
    return this.#list.sessions.slice(0, LIMIT).map(({ info }) => ({ label: titleOf(info), description: info.cwd, sessionId: info.sessionId, alwaysShow: true }));
  }
}

/** Searches titles, folders and messages. `behind`: not all messages were searched yet. */
async function find(client: Client, query: string, signal: AbortSignal): Promise<{ items: Item[]; behind: boolean }> {
  const [sessions, messages] = await Promise.all([
    client.call('_strata/session/search', { query, limit: LIMIT }, { signal }),
    client.call('_strata/history/search', { query, limit: LIMIT }, { signal }),
  ]);
  signal.throwIfAborted();
  const items = [
    ...part(vscode.l10n.t('Titles and Folders'), sessions.sessions.map(foundItem)),
    ...part(vscode.l10n.t('Messages'), messages.hits.map(hitItem)),
  ];
  return { items: items.length > 0 ? items : [{ label: vscode.l10n.t('Nothing found'), alwaysShow: true }], behind: (messages.behind ?? 0) > 0 };
}

const part = (label: string, items: Item[]): Item[] => (items.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items]);

const foundItem = (session: FoundSession): Item => ({ label: titleOf(session), description: session.cwd, sessionId: session.sessionId, alwaysShow: true });

const hitItem = (hit: SearchHit): Item => ({
  label: titleOf(hit),
  description: roleOf(hit),
  detail: snippetOf(hit),
  sessionId: hit.sessionId,
  alwaysShow: true,
});

function roleOf({ role }: SearchHit): string {
  switch (role) {
    case 'user':
      return vscode.l10n.t('prompt');
    case 'assistant':
      return vscode.l10n.t('reply');
    case 'tool':
      return vscode.l10n.t('tool result');
  }
}

