import * as vscode from 'vscode';

/**
 * Versions of the open documents, which change with each change of their text and are never used again, not even after the
 * window is loaded again: the versions of VS Code begin anew when a document is opened.
 */
export class DocumentVersions implements vscode.Disposable {
  readonly #origin = Math.random().toString(36).slice(2);
  readonly #versions = new Map<string, string>();
  readonly #subscriptions: vscode.Disposable;
  #last = 0;

  constructor() {
    this.#subscriptions = vscode.Disposable.from(
      vscode.workspace.onDidOpenTextDocument(({ uri }) => this.#changed(uri)),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.#changed(document.uri);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#versions.delete(uri.toString())),
    );
    for (const { uri } of vscode.workspace.textDocuments) this.#changed(uri);
  }

  /** Returns the version of an open document. */
  of(uri: vscode.Uri): string | undefined {
    return this.#versions.get(uri.toString());
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #changed(uri: vscode.Uri): void {
    this.#versions.set(uri.toString(), `${this.#origin}-${++this.#last}`);
  }
}
