import * as vscode from 'vscode';
import { linesOfSelection, linkTo, type Lines, type Link } from '../mentions/links.js';
import type { Files } from '../workspace/files.js';
import type { Chat } from './provider.js';

/** The commands that attach what the editor shows to the draft of the prompt. */
export class Attaching {
  readonly #files: Files;
  readonly #chat: Chat;

  constructor(files: Files, chat: Chat) {
    this.#files = files;
    this.#chat = chat;
  }

  readonly table = {
    add: (uri?: vscode.Uri, uris?: vscode.Uri[]) => this.#add(uris ?? (uri ? [uri] : [])),
    addSelection: () => this.#addSelection(),
  };

  /** Attaches files and folders to the draft of the prompt. */
  async #add(uris: vscode.Uri[]): Promise<void> {
    const chosen = uris.length > 0 ? uris : vscode.window.activeTextEditor ? [vscode.window.activeTextEditor.document.uri] : [];
    await this.#chat.draft('', chosen.map((uri) => this.#mention(uri)));
  }

  /** Attaches the selected lines to the draft of the prompt. */
  async #addSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    await this.#chat.draft('', [this.#mention(editor.document.uri, linesOfSelection(editor.selection))]);
  }

  /** Returns a file, or lines of it, as a prompt names it: by its URI on the server. */
  #mention(uri: vscode.Uri, lines?: Lines): Link {
    const link = linkTo(this.#files, uri, lines);
    if (!link) throw new Error(vscode.l10n.t('{0} is not in a folder of the server', uri.toString(true)));
    return link;
  }
}
