import * as vscode from 'vscode';
import type { Connection } from './connection.js';
import type { Token } from './token.js';

/** The commands of the connection, and those that give the server what it needs. */
export class ServerCommands {
  readonly #connection: Connection;
  readonly #token: Token;

  constructor(connection: Connection, token: Token) {
    this.#connection = connection;
    this.#token = token;
  }

  readonly table = {
    setToken: () => this.#setToken(),
    setKey: () => this.#setKey(),
    reconnect: () => this.#connection.reconnect(),
    openSettings: () => vscode.commands.executeCommand('workbench.action.openSettings', 'strata.'),
  };

  async #setToken(): Promise<void> {
    if (await this.#token.ask()) await this.#connection.reconnect();
  }

  /** Asks for the key of a provider. The server keeps it until it stops. */
  async #setKey(): Promise<void> {
    const client = this.#connection.required();
    const { providers } = await client.call('_strata/providers/list', {});
    const chosen = await vscode.window.showQuickPick(providers.map((p) => ({ label: p.name, provider: p.name })), { title: vscode.l10n.t('Provider of the key') });
    if (!chosen) return;
    const key = await vscode.window.showInputBox({ title: vscode.l10n.t('Key for {0}', chosen.label), password: true, ignoreFocusOut: true });
    if (key === undefined) return;
    await client.call('_strata/providers/set_key', { provider: chosen.provider, key: key.trim() });
  }
}
