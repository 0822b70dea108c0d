import * as vscode from 'vscode';
import type { Client } from '@strata/client';
import type { Action } from './channel/messages.js';
import type { Chat } from './chat/provider.js';
import type { Connection } from './server/connection.js';
import type { Token } from './server/token.js';
import type { CurrentSession } from './sessions/current.js';
import { titleOf, type Listed, type SessionList } from './sessions/list.js';
import type { Files } from './workspace/files.js';

/** What the commands work on. */
export interface Parts {
  connection: Connection;
  token: Token;
  list: SessionList;
  current: CurrentSession;
  files: Files;
  chat: Chat;
}

/** The commands of the extension. Each reports its failure to the user. */
export class Commands {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  register(): vscode.Disposable {
    const commands: Record<string, (...args: never[]) => unknown> = {
      newSession: () => this.newSession(),
      openSession: (id: string) => this.openSession(id),
      openHud: () => this.openHud(this.#address()),
      openSessionInHud: ({ info }: Listed) => this.openHud(sessionAddress(info.sessionId)),
      renameSession: (listed: Listed) => this.#rename(listed),
      forkSession: (listed: Listed) => this.#fork(listed),
      deleteSession: (listed: Listed) => this.#delete(listed),
      searchSessions: () => this.#search(),
      add: (uri?: vscode.Uri, uris?: vscode.Uri[]) => this.#add(uris ?? (uri ? [uri] : [])),
      addSelection: () => this.#addSelection(),
      setToken: () => this.#setToken(),
      setKey: () => this.#setKey(),
      reconnect: () => this.#parts.connection.reconnect(),
      openSettings: () => vscode.commands.executeCommand('workbench.action.openSettings', 'strata.'),
    };
    return vscode.Disposable.from(...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`strata.${name}`, reporting(run))));
  }

  /** Does what a view asks for. */
  act(action: Action): void {
    const run = reporting(async () => {
      switch (action.kind) {
        case 'hud':
          return this.openHud(action.address);
        case 'openFile':
          return this.#openFile(action.path, action.line);
        case 'insert':
          return void vscode.window.activeTextEditor?.edit((edit) => edit.replace(vscode.window.activeTextEditor!.selection, action.text));
        case 'newSession':
          return this.newSession();
        case 'reconnect':
          return this.#parts.connection.reconnect();
      }
    });
    void run();
  }

  /** Creates a session in a folder of the workspace, and opens it. */
  async newSession(): Promise<void> {
    const folder = await this.#folder();
    if (folder === undefined) return;
    const { sessionId } = await this.#client().call('session/new', { cwd: folder, mcpServers: [] });
    await this.openSession(sessionId);
  }

  async openSession(id: string): Promise<void> {
    this.#parts.current.open(id);
    await this.#parts.chat.show();
  }

  /** Opens the HUD at an address, a fragment, in a browser. */
  async openHud(address: string): Promise<void> {
    const { url } = await this.#client().call('_strata/server/hud_code', {});
    await vscode.env.openExternal(vscode.Uri.parse(url + address));
  }

  #address(): string {
    const { id } = this.#parts.current;
    return id === null ? '' : sessionAddress(id);
  }

  #client(): Client {
    const { client, state } = this.#parts.connection;
    if (client) return client;
    throw new Error(state.kind === 'closed' || state.kind === 'waiting' ? state.reason : vscode.l10n.t('not connected yet'));
  }

  /** Returns the folder for a new session: the only one of the workspace that the server has, or the one that the user chooses. */
  async #folder(): Promise<string | undefined> {
    const folders = (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri, name }) => {
      const path = this.#parts.files.path(uri);
      return path === undefined ? [] : [{ label: name, description: path, path }];
    });
    if (folders.length === 0) throw new Error(vscode.l10n.t('open a folder that the server can read, or set strata.pathMappings'));
    if (folders.length === 1) return folders[0]?.path;
    return (await vscode.window.showQuickPick(folders, { title: vscode.l10n.t('Folder of the new session') }))?.path;
  }

  async #rename({ info }: Listed): Promise<void> {
    const title = await vscode.window.showInputBox({ title: vscode.l10n.t('Rename Session'), value: info.title ?? '' });
    if (title !== undefined) await this.#client().call('_strata/session/rename', { sessionId: info.sessionId, title });
  }

  async #fork({ info }: Listed): Promise<void> {
    const { sessionId } = await this.#client().call('_strata/session/fork', { sessionId: info.sessionId });
    await this.openSession(sessionId);
  }

  async #delete({ info }: Listed): Promise<void> {
    const client = this.#client();
    await client.call('session/delete', { sessionId: info.sessionId });
    const undo = vscode.l10n.t('Undo');
    const chosen = await vscode.window.showInformationMessage(vscode.l10n.t('"{0}" deleted.', titleOf(info)), undo);
    if (chosen === undo) await client.call('_strata/session/undelete', { sessionId: info.sessionId });
  }

  async #search(): Promise<void> {
    const items = this.#parts.list.sessions.map(({ info }) => ({ label: titleOf(info), description: info.cwd, id: info.sessionId }));
    const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Search Sessions'), matchOnDescription: true });
    if (chosen) await this.openSession(chosen.id);
  }

  /** Attaches files and folders to the draft of the prompt. */
  async #add(uris: vscode.Uri[]): Promise<void> {
    const chosen = uris.length > 0 ? uris : vscode.window.activeTextEditor ? [vscode.window.activeTextEditor.document.uri] : [];
    await this.#parts.chat.draft('', chosen.map((uri) => this.#mention(uri)));
  }

  /** Attaches the selected lines to the draft of the prompt. */
  async #addSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { start, end } = editor.selection;
    const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
    const file = this.#mention(editor.document.uri);
    const lines = `#L${start.line + 1}:${last}`;
    await this.#parts.chat.draft('', [{ name: `${file.name}${lines}`, uri: file.uri + lines }]);
  }

  /** Returns a file as a prompt names it: by its URI on the server. */
  #mention(uri: vscode.Uri): { name: string; uri: string } {
    const path = this.#parts.files.path(uri);
    if (path === undefined) throw new Error(vscode.l10n.t('{0} is not in a folder of the server', uri.toString(true)));
    return { name: vscode.workspace.asRelativePath(uri, false), uri: vscode.Uri.file(path).toString() };
  }

  async #openFile(path: string, line?: number): Promise<void> {
    const uri = this.#parts.files.uri(path);
    if (!uri) throw new Error(vscode.l10n.t('{0} is not in the workspace', path));
    const at = new vscode.Position(Math.max(line ?? 1, 1) - 1, 0);
    await vscode.window.showTextDocument(uri, { preview: true, ...(line === undefined ? {} : { selection: new vscode.Range(at, at) }) });
  }

  async #setToken(): Promise<void> {
    if (await this.#parts.token.ask()) await this.#parts.connection.reconnect();
  }

  /** Asks for the key of a provider. The server keeps it until it stops. */
  async #setKey(): Promise<void> {
    const client = this.#client();
    const { providers } = await client.call('_strata/providers/list', {});
    const chosen = await vscode.window.showQuickPick(providers.map((p) => ({ label: p.name, provider: p.name })), { title: vscode.l10n.t('Provider of the key') });
    if (!chosen) return;
    const key = await vscode.window.showInputBox({ title: vscode.l10n.t('Key for {0}', chosen.label), password: true, ignoreFocusOut: true });
    if (key === undefined) return;
    await client.call('_strata/providers/set_key', { provider: chosen.provider, key: key.trim() });
  }
}

/** sessionAddress is the address of a session in the HUD. */
const sessionAddress = (id: string): string => `#/session/${encodeURIComponent(id)}`;

/** reporting returns a function that shows its failure to the user. */
function reporting<A extends unknown[]>(run: (...args: A) => unknown): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await run(...args);
    } catch (error) {
      void vscode.window.showErrorMessage(`Strata: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
}
