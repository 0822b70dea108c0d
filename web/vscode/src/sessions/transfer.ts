import * as vscode from 'vscode';
import { exportLines, importLines } from '@strata/client';
import { baseName } from '../format.js';
import { inform, unlinked } from '../notices.js';
import type { Connection } from '../server/connection.js';
import { bytesOf, fileNameOf, linesIn } from './lines.js';
import { titleOf } from './list.js';
import type { Given, Target } from './target.js';

/** The export of a session to a JSON Lines file, and its import. */
export class Transfer {
  readonly #connection: Connection;
  readonly #target: Target;
  readonly #open: (id: string) => Promise<void>;

  constructor(connection: Connection, target: Target, open: (id: string) => Promise<void>) {
    this.#connection = connection;
    this.#target = target;
    this.#open = open;
  }

  readonly table = {
    exportSession: (given: Given) => this.#export(given),
    importSession: () => this.#import(),
  };

  async #export(given: Given): Promise<void> {
    const client = this.#connection.required();
    const { info } = await this.#target(given);
    const { sessionId } = info;
    const name = fileNameOf(info.title ?? '', sessionId);
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const to = await vscode.window.showSaveDialog({ title: vscode.l10n.t('Export Session'), ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, name) } : {}), filters: FILTERS });
    if (!to) return;
    const isDone = await transferring(vscode.l10n.t('Exporting "{0}"', titleOf(info)), async (signal, progress) => {
      const { messages } = await client.call('_strata/session/info', { sessionId }, { signal });
      let count = 0;
      const bytes = await bytesOf(exportLines(client, sessionId, { signal }), () => progress(messages === 0 ? 1 : ++count / messages));
      signal.throwIfAborted();
      await vscode.workspace.fs.writeFile(to, bytes);
    });
    if (!isDone) return;
    const show = vscode.l10n.t('Open File');
    const chosen = await inform(vscode.l10n.t('"{0}" exported to {1}.', titleOf(info), baseName(to.path)), show);
    if (chosen === show) await vscode.window.showTextDocument(to);
  }

  async #import(): Promise<void> {
    const client = this.#connection.required();
    const [from] = (await vscode.window.showOpenDialog({ title: vscode.l10n.t('Import Session'), openLabel: vscode.l10n.t('Import'), filters: FILTERS })) ?? [];
    if (!from) return;
    let id = '';
    const isDone = await transferring(vscode.l10n.t('Importing {0}', baseName(from.path)), async (signal, progress) => {
      const bytes = await vscode.workspace.fs.readFile(from);
      id = await importLines(client, linesIn(bytes, (read) => progress(read / bytes.length)), { signal });
    });
    if (isDone) await this.#open(id);
  }
}

const FILTERS = { 'JSON Lines': ['jsonl', 'ndjson', 'json'] };

/** Runs a transfer with its progress, from 0 to 1, and a button that cancels it. It reports whether it was completed. */
async function transferring(title: string, run: (signal: AbortSignal, progress: (done: number) => void) => Promise<void>): Promise<boolean> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: unlinked(title), cancellable: true }, async (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    let shown = 0;
    const report = (done: number): void => {
      const now = Math.floor(Math.min(done, 1) * 100);
      if (now > shown) progress.report({ increment: now - shown, message: `${now} %` });
      shown = Math.max(shown, now);
    };
    try {
      await run(abort.signal, report);
      return true;
    } catch (error) {
      if (abort.signal.aborted) return false;
      throw error;
    }
  });
}
