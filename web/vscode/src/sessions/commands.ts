import * as vscode from 'vscode';
import type { Chat } from '../chat/provider.js';
import type { Connection } from '../server/connection.js';
import type { Files } from '../workspace/files.js';
import type { CurrentSession } from './current.js';
import { titleOf, type Listed, type SessionList } from './list.js';

/** The commands of the session tree, and those that create and open sessions. */
export class SessionCommands {
  readonly #connection: Connection;
  readonly #list: SessionList;
  readonly #current: CurrentSession;
  readonly #files: Files;
  readonly #chat: Chat;

  constructor(parts: { connection: Connection; list: SessionList; current: CurrentSession; files: Files; chat: Chat }) {
    this.#connection = parts.connection;
    this.#list = parts.list;
    this.#current = parts.current;
    this.#files = parts.files;
    this.#chat = parts.chat;
  }

  readonly table = {
    newSession: () => this.create(),
    openSession: (id: string) => this.open(id),
    renameSession: (listed: Listed) => this.#rename(listed),
    forkSession: (listed: Listed) => this.#fork(listed),
    deleteSession: (listed: Listed) => this.#delete(listed),
    searchSessions: () => this.#search(),
  };

  /** Creates a session in a folder of the workspace, and opens it. */
  async create(): Promise<void> {
    const folder = await this.#folder();
    if (folder === undefined) return;
    const { sessionId } = await this.#connection.required().call('session/new', this.#files.held.sessionIn(folder));
    await this.open(sessionId);
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

  async #rename({ info }: Listed): Promise<void> {
    const title = await vscode.window.showInputBox({ title: vscode.l10n.t('Rename Session'), value: info.title ?? '' });
    if (title !== undefined) await this.#connection.required().call('_strata/session/rename', { sessionId: info.sessionId, title });
  }

  async #fork({ info }: Listed): Promise<void> {
    const { sessionId } = await this.#connection.required().call('_strata/session/fork', { sessionId: info.sessionId });
    await this.open(sessionId);
  }

  async #delete({ info }: Listed): Promise<void> {
    const client = this.#connection.required();
    await client.call('session/delete', { sessionId: info.sessionId });
    const undo = vscode.l10n.t('Undo');
    const chosen = await vscode.window.showInformationMessage(vscode.l10n.t('"{0}" deleted.', titleOf(info)), undo);
    if (chosen === undo) await client.call('_strata/session/undelete', { sessionId: info.sessionId });
  }

  async #search(): Promise<void> {
    const items = this.#list.sessions.map(({ info }) => ({ label: titleOf(info), description: info.cwd, id: info.sessionId }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Search Sessions'), matchOnDescription: true });
    if (chosen) await this.open(chosen.id);
  }
}
