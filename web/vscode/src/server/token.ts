import * as vscode from 'vscode';

/** The name of the secret. */
const NAME = 'strata.token';

/** The token of the server in the setting `strata.server.url`. The editor stores it with its secrets. */
export class Token {
  readonly #secrets: vscode.SecretStorage;

  constructor(secrets: vscode.SecretStorage) {
    this.#secrets = secrets;
  }

  /** Returns the token, "" if there is none. */
  async read(): Promise<string> {
    return (await this.#secrets.get(NAME)) ?? '';
  }

  /** Asks for the token and stores it. Reports whether it has changed. */
  async ask(): Promise<boolean> {
    const token = await vscode.window.showInputBox({
      title: vscode.l10n.t('Token of the Strata server'),
      prompt: vscode.l10n.t('The command "strata token" prints it. Leave empty to remove the stored token.'),
      password: true,
      ignoreFocusOut: true,
    });
    if (token === undefined) return false;
    if (token.trim() === '') await this.#secrets.delete(NAME);
    else await this.#secrets.store(NAME, token.trim());
    return true;
  }
}
