import * as vscode from 'vscode';
import type { Asking, Questions } from '../chat/questions.js';
import { settings } from '../settings.js';
import type { Files } from '../workspace/files.js';
import { changesOfCall, excerptOf, textAfter, type FileChange } from './calls.js';
import type { Proposals } from './proposals.js';

/** The diffs of the changes that the server asks about. */
export class Approvals implements vscode.Disposable {
  readonly #questions: Questions;
  readonly #proposals: Proposals;
  readonly #files: Files;
  readonly #subscriptions: vscode.Disposable;
  /** The ids of the diffs by question and path, also of those that are just opened. */
  readonly #shown = new Map<number, Map<string, Promise<string>>>();

  /** A diff opens by itself if `isInSight` reports that the chat shows its session. */
  constructor(questions: Questions, proposals: Proposals, files: Files, isInSight: (sessionId: string) => boolean) {
    this.#questions = questions;
    this.#proposals = proposals;
    this.#files = files;
    this.#subscriptions = vscode.Disposable.from(
      questions.onDidAsk((asking) => {
        if (settings.openDiff && isInSight(asking.params.sessionId)) void this.#openFirst(asking).catch(() => {}); // the chat shows the lines too
      }),
      questions.onDidSettle((question) => void this.#close(question)),
    );
  }

  /** Shows the diff of a call that the server asks about. Of several files, the user chooses one. */
  async open(sessionId: string, toolCallId: string): Promise<void> {
    const asking = this.#questions.about(sessionId, toolCallId);
    if (!asking) return;
    const changes = changesOfCall(asking.params.toolCall.content ?? []);
    const change = changes.length > 1 ? await choose(changes) : changes[0];
    if (change) await this.#open(asking, change, false);
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #openFirst(asking: Asking): Promise<void> {
    const [change] = changesOfCall(asking.params.toolCall.content ?? []);
    if (change) await this.#open(asking, change, true);
  }

  async #open({ question }: Asking, change: FileChange, preserveFocus: boolean): Promise<void> {
    const ids = this.#shown.get(question) ?? new Map<string, Promise<string>>();
    this.#shown.set(question, ids);
    const shown = ids.get(change.path);
    if (shown) return this.#proposals.reveal(await shown);
    const opened = this.#show(question, change, { preserveFocus, closed: () => ids.delete(change.path) });
    ids.set(change.path, opened);
    opened.catch(() => ids.delete(change.path));
    await opened;
    if (!this.#questions.isOpen(question)) await this.#close(question); // it was settled before the diff was noted
  }

  /** Shows a diff and returns its id. */
  async #show(question: number, change: FileChange, { preserveFocus, closed }: { preserveFocus: boolean; closed: () => void }): Promise<string> {
    const uri = this.#files.uri(change.path);
    if (!uri) throw new Error(vscode.l10n.t('{0} is not in the workspace', change.path));
    const name = vscode.workspace.asRelativePath(uri);
    return this.#proposals.show({
      uri,
      title: change.isCut ? vscode.l10n.t('{0} (proposed, incomplete)', name) : vscode.l10n.t('{0} (proposed)', name),
      propose: (text) => textAfter(text, change),
      excerpt: excerptOf(change),
      approve: () => this.#questions.choose(question, 'allow_once'),
      reject: () => this.#questions.choose(question, 'reject_once'),
      closed,
    }, { preserveFocus });
  }

  async #close(question: number): Promise<void> {
    const ids = [...(this.#shown.get(question)?.values() ?? [])];
    this.#shown.delete(question);
    for (const id of await Promise.allSettled(ids)) if (id.status === 'fulfilled') await this.#proposals.end(id.value);
  }
}

async function choose(changes: readonly FileChange[]): Promise<FileChange | undefined> {
  const items = changes.map((change) => ({ label: change.path, change }));
  return (await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Choose a file to show its changes') }))?.change;
}
