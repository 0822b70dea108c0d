import * as vscode from 'vscode';
import type { ToView } from '../channel/messages.js';
import { Page, type PageParts } from '../webview/page.js';

/** The name of the view in package.json. */
export const CHAT = 'strata.chat';

/** The chat in the side bar. Its content is the HUD's conversation. */
export class Chat implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #parts: PageParts;
  readonly #session: () => string | null;
  #view: vscode.WebviewView | undefined;
  #page: Page | undefined;
  /** Drafts for a view that has not loaded. */
  #drafts: ToView[] = [];

  constructor(parts: PageParts, session: () => string | null) {
    this.#parts = parts;
    this.#session = session;
  }

  get isVisible(): boolean {
    return this.#view?.visible === true;
  }

  /**
   * Shows the chat. It takes the focus. The page takes it itself too: if it has just lost the focus, the editor can leave the
   * focus at the frame around the page.
   */
  async show(): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT}.focus`);
    this.#page?.post({ type: 'focus' });
  }

  /** Shows the current session in the view. */
  sessionChanged(): void {
    this.#page?.post({ type: 'show', sessionId: this.#session() });
  }

  /** Adds to the draft of the prompt, and shows it. */
  async draft(text: string, files: { name: string; uri: string }[] = []): Promise<void> {
    const message: ToView = { type: 'draft', text, files };
    if (!this.#page?.post(message)) this.#drafts.push(message);
    await this.show();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#page?.dispose();
    const page = new Page(view.webview, this.#parts, {
      name: 'chat',
      address: () => '',
      ready: () => {
        page.post({ type: 'show', sessionId: this.#session() });
        for (const draft of this.#drafts.splice(0)) page.post(draft);
      },
    });
    this.#view = view;
    this.#page = page;
    view.onDidChangeVisibility(() => {
      if (!view.visible) page.hidden();
    });
    view.onDidDispose(() => {
      page.dispose();
      if (this.#page !== page) return;
      this.#page = this.#view = undefined;
    });
  }

  dispose(): void {
    this.#page?.dispose();
  }
}
