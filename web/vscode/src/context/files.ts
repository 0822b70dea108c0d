import * as vscode from 'vscode';
import type { Client } from '@strata/client';
import { Refresh } from '../refresh.js';
import type { CurrentSession } from '../sessions/current.js';
import type { Files } from '../workspace/files.js';
import { absolute, contextOf, EMPTY, type Context } from './rows.js';

/** The files in the context of the current session, kept up to date by its events. */
export class ContextFiles implements vscode.Disposable {
  readonly #current: CurrentSession;
  readonly #files: Files;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: vscode.Disposable[];
  readonly #refresh = new Refresh(() => this.#read());
  #context = EMPTY;
  #cwd = '';

  readonly onDidChange = this.#changed.event;

  constructor(current: CurrentSession, files: Files) {
    this.#current = current;
    this.#files = files;
    this.#subscriptions = [current.onDidChange(() => this.#clear()), current.onDidChangeContext(() => this.#refresh.request())];
  }

  get context(): Context {
    return this.#context;
  }

  /** Returns where the editor has a file of the session, undefined if it does not have it. */
  uri(path: string): vscode.Uri | undefined {
    return this.#files.uri(absolute(this.#cwd, path));
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#changed.dispose();
  }

  #clear(): void {
    this.#set(EMPTY, '');
    this.#refresh.request();
  }

  async #read(): Promise<void> {
    const { client, id } = this.#current;
    if (!client || id === null) return this.#set(EMPTY, '');
    try {
      const { context, cwd } = await read(client, id);
      if (this.#current.id === id) this.#set(context, cwd);
    } catch {
      // a snapshot follows when the connection is back, and a session that was deleted is no longer the current one
    }
  }

  #set(context: Context, cwd: string): void {
    if (context === EMPTY && this.#context === EMPTY) return;
    this.#context = context;
    this.#cwd = cwd;
    this.#changed.fire();
  }
}

async function read(client: Client, sessionId: string): Promise<{ context: Context; cwd: string }> {
  const [{ session }, { files }, breakdown] = await Promise.all([
    client.call('_strata/session/info', { sessionId }),
    client.call('_strata/files/list', { sessionId, read: true }),
    client.call('_strata/context/breakdown', { sessionId }),
  ]);
  return { context: contextOf(files, breakdown), cwd: session.cwd };
}
