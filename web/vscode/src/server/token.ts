import * as vscode from 'vscode';

/** Start of the names of the secrets, before the address of the server. */
const PREFIX = 'strata.token ';

/** The tokens of servers. The editor stores each with its secrets, for the address for which the user gave it. */
export class Tokens {
  readonly #secrets: vscode.SecretStorage;

  constructor(secrets: vscode.SecretStorage) {
    this.#secrets = secrets;
  }

  /** Returns the token for an address, "" if there is none. */
  async read(address: string): Promise<string> {
    return (await this.#secrets.get(PREFIX + address)) ?? '';
  }

  /** Calls a function with the address of each token that this or another window has changed. */
  onDidChange(fn: (address: string) => void): vscode.Disposable {
    return this.#secrets.onDidChange(({ key }) => {
      if (key.startsWith(PREFIX)) fn(key.slice(PREFIX.length));
    });
  }

  /** Asks for the token for an address and stores it. Reports whether it has changed. */
  async ask(address: string): Promise<boolean> {
    const token = await vscode.window.showInputBox({
      title: vscode.l10n.t('Token of the Strata server'),
      prompt: vscode.l10n.t('For {0}. The command "strata token show" prints it. Leave empty to remove the stored token.', address),
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) => (isToken(text.trim()) ? null : vscode.l10n.t('A token has only printable ASCII characters without spaces.')),
    });
    if (token === undefined) return false;
    if (token.trim() === '') await this.#secrets.delete(PREFIX + address);
    else await this.#secrets.store(PREFIX + address, token.trim());
    return true;
  }
}

/** isToken reports whether a text can be part of a subprotocol, as which the token is sent: a longer one is a pasted mistake. */
const isToken = (text: string): boolean => /^[\w.~+/=-]{0,512}$/.test(text);
