import * as vscode from 'vscode';
import { exists } from '../workspace/edits.js';

/** The scheme of the proposed texts. */
export const PROPOSAL = 'strata-proposal';

/** A change of a file that the user approves or rejects. */
export interface Proposal {
  uri: vscode.Uri;
  /** A few words for the title of the diff, such as its name. */
  title: string;
  /** Returns the text that the file gets, null if the change does not fit its text. The text of a missing file is "". */
  propose: (text: string) => string | null;
  /** The changed lines only, which are shown if the change does not fit, or the editor cannot open the file. */
  excerpt?: { old: string; new: string };
  approve: () => unknown;
  reject: () => unknown;
  /** The user has closed the diff. */
  closed?: () => void;
}

/** A proposal in a diff. */
interface Shown {
  proposal: Proposal;
  left: string;
  right: string;
}

/**
 * The diffs of proposed changes: on the left the file as the editor has it, with unsaved text, on the right the proposed
 * text, which follows the file. Their titles have the buttons to approve and to reject.
 */
export class Proposals implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #shown = new Map<string, Shown>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #subscriptions: vscode.Disposable[];
  #last = 0;

  readonly onDidChange = this.#changed.event;

  constructor() {
    this.#subscriptions = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(PROPOSAL, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#follow(document)),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => closed.forEach((tab) => this.#tabClosed(tab))),
    ];
    void vscode.window.tabGroups.close(allTabs().filter((tab) => idOf(tab) !== undefined)); // of the window before it was loaded again
  }

  readonly table = {
    approveProposal: (uri?: vscode.Uri) => this.#chosen(uri)?.approve(),
    rejectProposal: (uri?: vscode.Uri) => this.#chosen(uri)?.reject(),
  };

  provideTextDocumentContent(uri: vscode.Uri): string {
    const { id, side } = partsOf(uri);
    return this.#shown.get(id)?.[side] ?? '';
  }

  /** Shows the diff of a proposal. Returns its id. */
  async show(proposal: Proposal, { preserveFocus = false } = {}): Promise<string> {
    const id = String(++this.#last);
    const document = await readable(proposal.uri);
    const right = document === undefined ? null : proposal.propose(document?.getText() ?? '');
    const { excerpt } = proposal;
    if (right === null && !excerpt) throw new Error(vscode.l10n.t('The change does not fit the text of {0}', proposal.title));
    this.#shown.set(id, { proposal, left: right === null ? (excerpt?.old ?? '') : '', right: right ?? excerpt?.new ?? '' });
    const left = right !== null && document ? proposal.uri : address(proposal.uri, id, 'left');
    await vscode.commands.executeCommand('vscode.diff', left, address(proposal.uri, id, 'right'), proposal.title, { preview: false, preserveFocus });
    return id;
  }

  /** Shows a diff that is there already. */
  async reveal(id: string): Promise<void> {
    const tab = this.#tabs(id)[0];
    if (!(tab?.input instanceof vscode.TabInputTextDiff)) return;
    await vscode.commands.executeCommand('vscode.diff', tab.input.original, tab.input.modified, tab.label, { preview: false });
  }

  /** Closes the diff of a proposal that is settled. */
  async end(id: string): Promise<void> {
    if (!this.#shown.delete(id)) return;
    await vscode.window.tabGroups.close(this.#tabs(id), true);
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** Returns the proposal of a text, or the one in the active editor. */
  #chosen(uri?: vscode.Uri): Proposal | undefined {
    const id = uri?.scheme === PROPOSAL ? partsOf(uri).id : idOf(vscode.window.tabGroups.activeTabGroup.activeTab);
    return id === undefined ? undefined : this.#shown.get(id)?.proposal;
  }

  /** Refreshes the proposed texts of a document that has changed. One that no longer fits stays as it is. */
  #follow(document: vscode.TextDocument): void {
    for (const [id, shown] of this.#shown) {
      if (shown.proposal.uri.toString() !== document.uri.toString()) continue;
      const right = shown.proposal.propose(document.getText());
      if (right === null || right === shown.right) continue;
      shown.right = right;
      this.#changed.fire(address(shown.proposal.uri, id, 'right'));
    }
  }

  #tabClosed(tab: vscode.Tab): void {
    const id = idOf(tab);
    const shown = id === undefined ? undefined : this.#shown.get(id);
    if (id === undefined || !shown || this.#tabs(id).length > 0) return;
    this.#shown.delete(id);
    shown.proposal.closed?.();
  }

  #tabs(id: string): vscode.Tab[] {
    return allTabs().filter((tab) => idOf(tab) === id);
  }
}

const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);

/** Returns the id of the proposal that a tab shows. */
function idOf(tab: vscode.Tab | undefined): string | undefined {
  return tab?.input instanceof vscode.TabInputTextDiff && tab.input.modified.scheme === PROPOSAL ? partsOf(tab.input.modified).id : undefined;
}

/** Returns the address of a side of a diff. Its path ends like that of the file, which selects the language. */
const address = (uri: vscode.Uri, id: string, side: 'left' | 'right'): vscode.Uri => vscode.Uri.from({ scheme: PROPOSAL, path: uri.path, query: `${side}=${id}` });

function partsOf(uri: vscode.Uri): { id: string; side: 'left' | 'right' } {
  const [side, id = ''] = uri.query.split('=');
  return { id, side: side === 'left' ? 'left' : 'right' };
}

/** Returns the document of a file; null if there is none, undefined if the editor cannot open it. */
async function readable(uri: vscode.Uri): Promise<vscode.TextDocument | null | undefined> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    return (await exists(uri)) ? undefined : null;
  }
}
