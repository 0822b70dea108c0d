import * as vscode from 'vscode';
import { items, type DeletedSession } from '@strata/client';
import { dollars } from '../format.js';
import { inform } from '../notices.js';
import type { Connection } from '../server/connection.js';
import { titleOf } from './list.js';

/** Maximum number of deleted sessions that are shown, the last deleted. */
const LIMIT = 500;

/** The deleted sessions, which can be undeleted until they are purged. */
export class Bin {
  readonly #connection: Connection;
  readonly #open: (id: string) => Promise<void>;

  constructor(connection: Connection, open: (id: string) => Promise<void>) {
    this.#connection = connection;
    this.#open = open;
  }

  readonly table = {
    deletedSessions: () => this.#show(),
  };

  /** Shows the deleted sessions, undeletes the chosen one and opens it. */
  async #show(): Promise<void> {
    const client = this.#connection.required();
    const entries: (vscode.QuickPickItem & { id: string })[] = [];
    for await (const session of items(client, '_strata/session/list_deleted', {})) {
      entries.push({ label: titleOf(session), description: session.cwd, detail: factsOf(session), id: session.sessionId });
      if (entries.length === LIMIT) break;
    }
    if (entries.length === 0) return void inform(vscode.l10n.t('There are no deleted sessions.'));
    const chosen = await vscode.window.showQuickPick(entries, { title: vscode.l10n.t('Deleted Sessions'), placeHolder: vscode.l10n.t('Choose a session to undelete'), matchOnDescription: true });
    if (!chosen) return;
    await client.call('_strata/session/undelete', { sessionId: chosen.id });
    await this.#open(chosen.id);
  }
}

function factsOf({ deletedAt, purgeAt, messages, cost }: DeletedSession): string {
  const time = (at: string): string => new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return vscode.l10n.t('{0} messages, {1}. Deleted {2}, purged after {3}', messages, dollars(cost), time(deletedAt), time(purgeAt));
}
