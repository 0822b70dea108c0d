import * as vscode from 'vscode';
import type { Chat } from '../chat/provider.js';
import { inform } from '../notices.js';
import type { Connection } from '../server/connection.js';
import type { Files } from '../workspace/files.js';
import type { CurrentSession } from './current.js';
import { titleOf, type SessionList } from './list.js';
import type { Given, Target } from './target.js';

/** The commands of the session tree, and those that create and open sessions. */
export class SessionCommands {
  readonly #connection: Connection;
  readonly #list: SessionList;
  readonly #current: CurrentSession;
  readonly #files: Files;
  readonly #chat: Chat;
  readonly #target: Target;

  constructor(parts: { connection: Connection; list: SessionList; current: CurrentSession; files: Files; chat: Chat; target: Target }) {
    this.#connection = parts.connection;
    this.#list = parts.list;
    this.#current = parts.current;
    this.#files = parts.files;
    this.#chat = parts.chat;
    this.#target = parts.target;
  }

  readonly table = {
    newSession: () => this.create(),
    openSession: (id: string) => this.open(id),
    renameSession: (given: Given) => this.#rename(given),
    forkSession: (given: Given) => this.#fork(given),
    deleteSession: (given: Given) => this.#delete(given),
    loadMoreSessions: () => this.#list.loadMore(),
  };

  /** Creates a session in a folder of the workspace, and opens it. */
  async create(): Promise<void> {
    const folder = await this.#folder();
    if (folder === undefined) return;
    const { id } = await this.#connection.required().newSession(this.#files.held.sessionIn(folder));
    await this.open(id);
  }

  async open(id: string): Promise<void> {
    this.#current.open(id);
    await this.#chat.show();
  }

  /** Returns the folder for a new session: the only one of the workspace that the server has, or the one that the user chooses. */
  async #folder(): Promise<string | undefined> {
    const folders = (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri, name }) => {
      const path = this.#files.path(uri);
      return path === undefined ? [] : [{ label: name, description: path, path }];
    });
    if (folders.length === 0) throw new Error(vscode.l10n.t('open a folder first'));
    if (folders.length === 1) return folders[0]?.path;
    return (await vscode.window.showQuickPick(folders, { title: vscode.l10n.t('Folder of the new session') }))?.path;
  }

  async #rename(given: Given): Promise<void> {
    const { info } = await this.#target(given);
    const title = await vscode.window.showInputBox({ title: vscode.l10n.t('Rename Session'), value: info.title ?? '' });
    if (title !== undefined) await this.#connection.required().call('_strata/session/rename', { sessionId: info.sessionId, title });
  }

  async #fork(given: Given): Promise<void> {
    const { info } = await this.#target(given);
    const { sessionId } = await this.#connection.required().call('_strata/session/fork', { sessionId: info.sessionId });
    await this.open(sessionId);
  }

  /** Deletes a session and offers an undo. Later the session is in the list of deleted ones. */
  async #delete(given: Given): Promise<void> {
    const client = this.#connection.required();
    const { info } = await this.#target(given);
    const wasOpen = this.#current.id === info.sessionId;
    await client.call('session/delete', { sessionId: info.sessionId });
    if (wasOpen) this.#current.open(null);
    const undo = vscode.l10n.t('Undo');
    const chosen = await inform(vscode.l10n.t('"{0}" deleted.', titleOf(info)), undo);
    if (chosen !== undo) return;
    await this.#connection.required().call('_strata/session/undelete', { sessionId: info.sessionId }); // possibly another client by now
    if (wasOpen) this.#current.open(info.sessionId);
  }
}
