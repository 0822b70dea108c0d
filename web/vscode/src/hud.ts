import * as vscode from 'vscode';
import type { Connection } from './server/connection.js';
import type { CurrentSession } from './sessions/current.js';
import type { Listed } from './sessions/list.js';
import { Page, type PageParts } from './webview/page.js';

/** The type of the panel in package.json. */
export const HUD = 'strata.hud';

/** Maximum characters of an address of the HUD, and of the title of its panel. */
const MAX_ADDRESS = 2000;
const MAX_TITLE = 60;

/** Opens the HUD: in the only panel of this window, or in a browser. */
export class Hud implements vscode.WebviewPanelSerializer, vscode.Disposable {
  readonly #connection: Connection;
  readonly #current: CurrentSession;
  readonly #parts: PageParts;
  #panel: vscode.WebviewPanel | undefined;
  #page: Page | undefined;
  /** The address to which the document of the panel goes when it has loaded. */
  #waiting: string | undefined;

  constructor(parts: PageParts, current: CurrentSession) {
    this.#parts = parts;
    this.#connection = parts.connection;
    this.#current = current;
  }

  readonly table = {
    openHud: () => this.open(this.#here()),
    openSessionInHud: ({ info }: Listed) => this.open(sessionAddress(info.sessionId)),
    openHudInBrowser: () => this.openInBrowser(this.#here()),
  };

  /** Shows the HUD in its panel at an address, a fragment. */
  open(address: string): void {
    const to = checked(address);
    if (!this.#panel) return this.#show(vscode.window.createWebviewPanel(HUD, 'Strata', vscode.ViewColumn.Active), to);
    const isThere = this.#panel.visible; // a hidden panel loads its document again
    this.#panel.reveal();
    if (!isThere || !this.#page?.post({ type: 'go', address: to })) this.#waiting = to;
  }

  /** Opens the HUD in a browser at an address. */
  async openInBrowser(address: string): Promise<void> {
    const to = checked(address);
    const { url } = await this.#connection.required().call('_strata/server/hud_code', {});
    await vscode.env.openExternal(vscode.Uri.parse(url + to));
  }

  /** Takes the panel of a window that was loaded again. Its document remembers its address. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    if (this.#panel) panel.dispose();
    else this.#show(panel, '#/');
    return Promise.resolve();
  }

  dispose(): void {
    this.#panel?.dispose();
  }

  #here(): string {
    return this.#current.id === null ? '#/' : sessionAddress(this.#current.id);
  }

  #show(panel: vscode.WebviewPanel, address: string): void {
    const { extension } = this.#parts;
    panel.iconPath = vscode.Uri.joinPath(extension, 'media', 'hud.svg');
    this.#panel = panel;
    const page = new Page(panel.webview, this.#parts, {
      name: 'hud',
      address: () => address,
      ready: () => {
        if (this.#waiting !== undefined) page.post({ type: 'go', address: this.#waiting });
        this.#waiting = undefined;
      },
      titled: (title) => (panel.title = title.slice(0, MAX_TITLE) || 'Strata'),
    });
    this.#page = page;
    panel.onDidDispose(() => {
      page.dispose();
      this.#panel = this.#page = this.#waiting = undefined;
    });
  }
}

/** sessionAddress is the address of a session in the HUD. */
const sessionAddress = (id: string): string => `#/session/${encodeURIComponent(id)}`;

/** Returns an address of the HUD. What is none, it refuses. */
function checked(address: string): string {
  if (!/^#\/[^\s"<>\\]*$/.test(address) || address.length > MAX_ADDRESS) throw new Error(vscode.l10n.t('{0} is not an address of the HUD', address.slice(0, 100)));
  return address;
}
