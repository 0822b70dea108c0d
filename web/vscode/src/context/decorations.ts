import * as vscode from 'vscode';
import { settings } from '../settings.js';
import type { ContextFiles } from './files.js';
import { isSeen, type ContextFile } from './rows.js';
import { factsOf } from './words.js';

/** The badges: a file in the context, a pinned one, and one that tools read. */
const BADGES = { file: '◆', pinned: '◈', read: '◇' };

/** Marks the files that the model sees, in the explorer and on tabs. */
export class ContextDecorations implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #context: ContextFiles;
  readonly #changed = new vscode.EventEmitter<vscode.Uri[]>();
  readonly #subscriptions: vscode.Disposable[];
  #shown = new Map<string, vscode.FileDecoration>();

  readonly onDidChangeFileDecorations = this.#changed.event;

  constructor(context: ContextFiles) {
    this.#context = context;
    this.#subscriptions = [
      vscode.window.registerFileDecorationProvider(this),
      context.onDidChange(() => this.#update()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('strata.decorations') || event.affectsConfiguration('strata.pathMappings')) this.#update();
      }),
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    return this.#shown.get(uri.toString());
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#changed.dispose();
  }

  /** Computes the decorations again, and reports the files whose decorations differ from before. */
  #update(): void {
    const before = this.#shown;
    this.#shown = settings.decorations ? this.#decorations() : new Map();
    const changed = [...new Set([...before.keys(), ...this.#shown.keys()])].filter((uri) => !isEqual(before.get(uri), this.#shown.get(uri)));
    if (changed.length > 0) this.#changed.fire(changed.map((uri) => vscode.Uri.parse(uri, true)));
  }

  #decorations(): Map<string, vscode.FileDecoration> {
    const shown = new Map<string, vscode.FileDecoration>();
    const { files, read } = this.#context.context;
    for (const file of [...read, ...files]) {
      const uri = isSeen(file) ? this.#context.uri(file.path) : undefined;
      if (uri) shown.set(uri.toString(), new vscode.FileDecoration(badgeOf(file), vscode.l10n.t('In the context of Strata: {0}', factsOf(file).join(', '))));
    }
    return shown;
  }
}

const badgeOf = (file: ContextFile): string => (file.read ? BADGES.read : file.pinned ? BADGES.pinned : BADGES.file);

const isEqual = (a: vscode.FileDecoration | undefined, b: vscode.FileDecoration | undefined): boolean => a?.badge === b?.badge && a?.tooltip === b?.tooltip;
