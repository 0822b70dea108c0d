import * as vscode from 'vscode';
import { sentState } from '../channel/errors.js';
import { Served } from '../channel/host.js';
import type { Action, FromView, ToView } from '../channel/messages.js';
import type { Questions } from '../chat/questions.js';
import type { Mentions } from '../mentions/source.js';
import type { Connection } from '../server/connection.js';
import { pageDocument, VIEW_FOLDER, type PageName } from './html.js';

/** What all pages share. */
export interface PageParts {
  extension: vscode.Uri;
  connection: Connection;
  questions: Questions;
  mentions: Mentions;
  /** Does what a page asks the editor for. */
  act: (action: Action) => void;
}

/** What a page has of its own. */
export interface PageUse {
  name: PageName;
  /** The address of the HUD at which the page begins. */
  address: () => string;
  /** The page has loaded and takes messages. */
  ready: () => void;
  titled?: (title: string) => void;
}

/**
 * A page in a webview: the calls, streams, prompts and questions between its document and the client of the extension host.
 * Another client loads the document again. Closing it ends its calls and streams; its prompts go on.
 */
export class Page implements vscode.Disposable {
  readonly #webview: vscode.Webview;
  readonly #parts: PageParts;
  readonly #use: PageUse;
  readonly #served: Served;
  readonly #subscriptions: vscode.Disposable[];
  #leaveQuestions = (): void => {};
  #isReady = false;
  #loads = 0;

  constructor(webview: vscode.Webview, parts: PageParts, use: PageUse) {
    this.#webview = webview;
    this.#parts = parts;
    this.#use = use;
    this.#served = new Served(() => parts.connection.client, (message) => this.#send(message));
    webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(parts.extension, ...VIEW_FOLDER)] };
    this.#subscriptions = [
      webview.onDidReceiveMessage((message: FromView) => this.#take(message)),
      parts.connection.onDidChange(() => this.#tellConnection()),
      parts.connection.onDidReplace((client) => {
        if (client) this.#load();
      }),
    ];
    this.#load();
  }

  /** Sends a message, unless the document has not loaded: `ready` then sends what it needs. Reports whether it was sent. */
  post(message: ToView): boolean {
    if (this.#isReady) this.#send(message);
    return this.#isReady;
  }

  /** The document is gone, and loads again when its view is shown. */
  hidden(): void {
    this.#leave();
  }

  dispose(): void {
    this.#leave();
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #take(message: FromView): void {
    if (this.#served.take(message)) return;
    switch (message.type) {
      case 'ready':
        return this.#ready();
      case 'answer':
        return this.#parts.questions.answer(message.question, message.result);
      case 'find':
        return void this.#find(message);
      case 'title':
        return this.#use.titled?.(message.title);
      case 'do':
        return this.#parts.act(message.action);
    }
  }

  /** The document has loaded, possibly again: what it asked for before is of no use. */
  #ready(): void {
    this.#leave();
    this.#isReady = true;
    this.#tellConnection();
    this.#use.ready();
    this.#leaveQuestions = this.#parts.questions.add((question) => this.#send(question));
  }

  async #find({ id, kind, query }: Extract<FromView, { type: 'find' }>): Promise<void> {
    const mentions = await this.#parts.mentions.find(kind, query).catch(() => []); // files can be mentioned without the others
    this.post({ type: 'found', id, mentions });
  }

  #leave(): void {
    this.#isReady = false;
    this.#served.clear();
    this.#leaveQuestions();
    this.#leaveQuestions = () => {};
  }

  #load(): void {
    this.#leave();
    const document = pageDocument(this.#webview, this.#parts.extension, this.#use.name, this.#use.address());
    this.#webview.html = `${document}<!-- ${++this.#loads} -->`; // an equal document is not loaded again
  }

  #tellConnection(): void {
    const { client, state } = this.#parts.connection;
    this.post({ type: 'connection', state: sentState(state), ...(client ? { agent: client.agent } : {}) });
  }

  #send(message: ToView): void {
    void this.#webview.postMessage(message);
  }
}
