import * as vscode from 'vscode';
import type { Connection } from './connection.js';
import type { Tokens } from './token.js';

/** The commands of the connection. */
export class ServerCommands {
  readonly #connection: Connection;
  readonly #tokens: Tokens;

  constructor(connection: Connection, tokens: Tokens) {
    this.#connection = connection;
    this.#tokens = tokens;
  }

  readonly table = {
    setToken: () => this.#setToken(),
    reconnect: () => this.#connection.reconnect(),
    openSettings: () => vscode.commands.executeCommand('workbench.action.openSettings', 'strata.'),
  };

  /** Asks for the token of the server in the settings. A connection that waits for it hears of the change from the secrets. */
  async #setToken(): Promise<void> {
    const { address } = this.#connection;
    if (address === undefined) throw new Error(vscode.l10n.t('only a server with an address in the setting strata.server.url needs a token'));
    if ((await this.#tokens.ask(address)) && this.#connection.state.kind !== 'closed') await this.#connection.reconnect();
  }
}
