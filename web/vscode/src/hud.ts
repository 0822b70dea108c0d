import * as vscode from 'vscode';
import type { Connection } from './server/connection.js';
import type { CurrentSession } from './sessions/current.js';
import type { Listed } from './sessions/list.js';

/** Opens the HUD, the web page of the server. */
export class Hud {
  readonly #connection: Connection;
  readonly #current: CurrentSession;

  constructor(connection: Connection, current: CurrentSession) {
    this.#connection = connection;
    this.#current = current;
  }

  readonly table = {
    openHud: () => this.open(this.#current.id === null ? '' : sessionAddress(this.#current.id)),
    openSessionInHud: ({ info }: Listed) => this.open(sessionAddress(info.sessionId)),
  };

  /** Opens the HUD at an address, a fragment, in a browser. */
  async open(address: string): Promise<void> {
    const { url } = await this.#connection.required().call('_strata/server/hud_code', {});
    await vscode.env.openExternal(vscode.Uri.parse(url + address));
  }
}

/** sessionAddress is the address of a session in the HUD. */
const sessionAddress = (id: string): string => `#/session/${encodeURIComponent(id)}`;
