import * as vscode from 'vscode';
import { sentState } from '../channel/errors.js';
import { Served } from '../channel/host.js';
import type { Action, FromView, ToView } from '../channel/messages.js';
import type { Connection } from '../server/connection.js';
import { chatPage, VIEW_FOLDER } from './html.js';
import type { Mentions } from '../mentions/source.js';
import type { Questions } from './questions.js';

/** The name of the view in package.json. */
export const CHAT = 'strata.chat';

/** The chat in the side bar. Its content is the HUD's conversation. */
export class Chat implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #connection: Connection;
  readonly #questions: Questions;
  readonly #mentions: Mentions;
  readonly #act: (action: Action) => void;
  readonly #session: () => string | null;
  readonly #replaced: vscode.Disposable;
  #view: vscode.WebviewView | undefined;
  /** Drafts for a view that has not loaded. */
  #drafts: ToView[] = [];
  #isReady = false;

  constructor(extension: vscode.Uri, connection: Connection, questions: Questions, mentions: Mentions, session: () => string | null, act: (action: Action) => void) {
    this.#extension = extension;
    this.#connection = connection;
    this.#questions = questions;
    this.#mentions = mentions;
    this.#session = session;
    this.#act = act;
    this.#replaced = connection.onDidReplace((client) => {
      if (client) this.#load(); // the view of another client begins anew
    });
  }

  get isVisible(): boolean {
    return this.#view?.visible === true;
  }

  /** Shows the chat. It takes the focus. */
  async show(): Promise<void> {
    await vscode.commands.executeCommand(`${CHAT}.focus`);
  }

  /** Shows the current session in the view. */
  sessionChanged(): void {
    if (this.#isReady) this.#post({ type: 'show', sessionId: this.#session() });
  }

  /** Adds to the draft of the prompt, and shows it. */
  async draft(text: string, files: { name: string; uri: string }[] = []): Promise<void> {
    const message: ToView = { type: 'draft', text, files };
    if (this.#isReady) this.#post(message);
    else this.#drafts.push(message);
    await this.show();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.#extension, ...VIEW_FOLDER)] };
    const served = new Served(() => this.#connection.client, (message) => this.#post(message));
    let leave = (): void => {};
    const changed = this.#connection.onDidChange(() => this.#tellConnection());
    view.webview.onDidReceiveMessage((message: FromView) => {
      if (served.take(message)) return;
      switch (message.type) {
        case 'ready':
          served.clear();
          leave();
          this.#isReady = true;
          this.#tellConnection();
          this.#post({ type: 'show', sessionId: this.#session() });
          leave = this.#questions.add((question) => this.#post(question));
          for (const draft of this.#drafts.splice(0)) this.#post(draft);
          return;
        case 'answer':
          return this.#questions.answer(message.question, message.result);
        case 'find':
          return void this.#find(message);
        case 'do':
          return this.#act(message.action);
      }
    });
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.#isReady = false; // its page is gone, and begins anew when it is drawn again
    });
    view.onDidDispose(() => {
      served.clear();
      leave();
      changed.dispose();
      this.#isReady = false;
      this.#view = undefined;
    });
    this.#load();
  }

  dispose(): void {
    this.#replaced.dispose();
  }

  #load(): void {
    if (!this.#view) return;
    this.#isReady = false;
    this.#view.webview.html = `${chatPage(this.#view.webview, this.#extension, vscode.env.language)}<!-- ${Date.now()} -->`; // equal pages are not loaded again
  }

  #tellConnection(): void {
    const { client, state } = this.#connection;
    if (this.#isReady) this.#post({ type: 'connection', state: sentState(state), ...(client ? { agent: client.agent } : {}) });
  }

  async #find({ id, kind, query }: Extract<FromView, { type: 'find' }>): Promise<void> {
    const mentions = await this.#mentions.find(kind, query).catch(() => []); // files can be mentioned without the others
    this.#post({ type: 'found', id, mentions });
  }

  #post(message: ToView): void {
    void this.#view?.webview.postMessage(message);
  }
}
