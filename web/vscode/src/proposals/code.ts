import * as vscode from 'vscode';
import type { CodeBlock } from '../channel/messages.js';
import { create, exists, open, replaceText } from '../workspace/edits.js';
import type { Files } from '../workspace/files.js';
import { pathInHead, pathInLine } from './naming.js';
import { PROPOSAL, type Proposal, type Proposals } from './proposals.js';
import { filesOf, isUnified, patched, type FilePatch } from './unified.js';

/** Maximum characters of a block of code that is applied. */
const MAX_CODE = 4 << 20;

/** A change by a block of code, before it is shown. */
type Change = Pick<Proposal, 'uri' | 'title' | 'propose'>;

/**
 * Takes blocks of code of replies into files. Where a block belongs is read from the block, in this order: a unified diff
 * changes the lines of its files; a path in the line that opens the block names a file that gets the whole text; a path in
 * the line before it does so if the user says that; otherwise the block replaces the selection of the active editor, or is
 * inserted at its cursor. The user sees each change as a diff before it is made.
 */
export class CodeBlocks {
  readonly #proposals: Proposals;
  readonly #files: Files;
  readonly #sessionFolder: () => vscode.Uri | undefined;

  /** `sessionFolder` returns the folder of the current session, to which the paths in its replies are relative. */
  constructor(proposals: Proposals, files: Files, sessionFolder: () => vscode.Uri | undefined) {
    this.#proposals = proposals;
    this.#files = files;
    this.#sessionFolder = sessionFolder;
  }

  /** Replaces the selection of the active editor by a text. */
  async insert(text: string): Promise<void> {
    const editor = activeEditor();
    if (!(await editor.edit((edit) => editor.selections.forEach((selection) => edit.replace(selection, text))))) {
      throw new Error(vscode.l10n.t('{0}: the editor did not apply the edit', editor.document.uri.fsPath));
    }
    await vscode.window.showTextDocument(editor.document, editor.viewColumn);
  }

  /** Shows the diffs of the changes that a block of code makes. */
  async apply(block: CodeBlock): Promise<void> {
    if (block.text.length > MAX_CODE) throw new Error(vscode.l10n.t('the code exceeds the limit of {0} characters', MAX_CODE));
    for (const change of await this.#changes(block)) await this.#show(change);
  }

  async #changes({ text, info, before }: CodeBlock): Promise<Change[]> {
    const named = pathInHead(info);
    const near = pathInLine(before);
    if (isUnified(text, info.split(/\s/)[0] ?? '')) return Promise.all(filesOf(text).map((file) => this.#patch(file, named ?? near)));
    if (named !== undefined) return [await this.#whole(named, text)];
    if (near === undefined) return [atCursor(text)];
    const chosen = await this.#choose(near, text);
    return chosen ? [chosen] : [];
  }

  /** Returns the change of a file by a diff. A diff without a path changes the named file, or that of the active editor. */
  async #patch(file: FilePatch, named: string | undefined): Promise<Change> {
    const path = file.path ?? named;
    const uri = path === undefined ? activeEditor().document.uri : await this.#uri(path);
    const name = vscode.workspace.asRelativePath(uri);
    if (file.state === 'deleted') throw new Error(vscode.l10n.t('The diff deletes {0}. Delete the file in the explorer', name));
    return { uri, title: vscode.l10n.t('{0} (diff of the reply)', name), propose: (now) => patched(now, file) };
  }

  /** Returns the change of a file that gets a text as a whole. */
  async #whole(path: string, text: string): Promise<Change> {
    const uri = await this.#uri(path);
    const isNew = !(await exists(uri));
    const name = vscode.workspace.asRelativePath(uri);
    return {
      uri,
      title: isNew ? vscode.l10n.t('{0} (new file)', name) : vscode.l10n.t('{0} (whole file)', name),
      propose: (now) => (now === '' || now.endsWith('\n') ? `${text}\n` : text),
    };
  }

  /** Lets the user choose whether a block is the file that the line before it names, or goes to the cursor. */
  async #choose(path: string, text: string): Promise<Change | undefined> {
    const editor = vscode.window.activeTextEditor;
    const whole = { label: vscode.l10n.t('Replace all of {0}', path), make: () => this.#whole(path, text) };
    const there = { label: editor ? vscode.l10n.t('Insert in {0}', vscode.workspace.asRelativePath(editor.document.uri)) : '', make: async () => atCursor(text) };
    const chosen = await vscode.window.showQuickPick(editor ? [whole, there] : [whole], { title: vscode.l10n.t('Choose where to put the code') });
    return chosen?.make();
  }

  /**
   * Returns the URI of a path in a reply, which must be in the workspace. A relative path is below the folder of the session;
   * if the file does not exist there, below the first folder of the workspace that has it.
   */
  async #uri(path: string): Promise<vscode.Uri> {
    const isAbsolute = /^([\\/]|[A-Za-z]:[\\/])/.test(path);
    const folders = [this.#sessionFolder() ?? [], (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri)].flat();
    const climbs = path.split(/[\\/]/).includes('..');
    const all = climbs ? [] : isAbsolute ? [this.#files.uri(path)] : folders.map((folder) => vscode.Uri.joinPath(folder, path.replaceAll('\\', '/')));
    const inside = all.filter((uri) => uri !== undefined).filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined);
    for (const uri of inside) if (await exists(uri)) return uri;
    if (inside[0]) return inside[0];
    throw new Error(vscode.l10n.t('{0} is not in the workspace', path));
  }

  async #show(change: Change): Promise<void> {
    const end = (): Promise<void> => this.#proposals.end(id);
    const id: string = await this.#proposals.show({
      ...change,
      approve: async () => {
        await make(change);
        await end();
        await vscode.window.showTextDocument(change.uri, { preview: false });
      },
      reject: end,
    });
  }
}

/** Makes a change of the newest text. An open document stays unsaved, so that the user can look at it. */
async function make({ uri, title, propose }: Change): Promise<void> {
  const document = (await exists(uri)) || uri.scheme === 'untitled' ? await open(uri) : undefined;
  const text = propose(document?.getText() ?? '');
  if (text === null) throw new Error(vscode.l10n.t('The change does not fit the text of {0}', title));
  await (document ? replaceText(document, text) : create(uri, text));
}

/** Returns the change that replaces the selection of the active editor, or inserts at its cursor. It fits only the text of now. */
function atCursor(text: string): Change {
  const { document, selection } = activeEditor();
  const base = document.getText();
  const [start, end] = [document.offsetAt(selection.start), document.offsetAt(selection.end)];
  const isLines = selection.start.character === 0 && selection.end.character === 0 && (end < base.length || !selection.isEmpty);
  const added = isLines ? `${text}\n` : text;
  const name = vscode.workspace.asRelativePath(document.uri);
  const title = selection.isEmpty
    ? vscode.l10n.t('{0} (insertion at line {1})', name, selection.start.line + 1)
    : vscode.l10n.t('{0} (selected lines {1} to {2})', name, selection.start.line + 1, selection.end.line + 1);
  return { uri: document.uri, title, propose: (now) => (now === base ? base.slice(0, start) + added + base.slice(end) : null) };
}

/** Returns the active editor of a file, or the first visible one if a page such as the HUD is active. Without one, it throws. */
function activeEditor(): vscode.TextEditor {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const editor = [activeTextEditor, ...visibleTextEditors].find((one) => one && one.document.uri.scheme !== PROPOSAL);
  if (!editor) throw new Error(vscode.l10n.t('Open a file first'));
  return editor;
}
