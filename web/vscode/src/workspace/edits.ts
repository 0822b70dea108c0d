import * as vscode from 'vscode';
import { ErrorCode, RpcError } from '@strata/client';
import { changesOf } from './lines.js';

/** Returns the document of a file, with unsaved text. */
export async function open(uri: vscode.Uri): Promise<vscode.TextDocument> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch (error) {
    if (await exists(uri)) throw error;
    throw new RpcError(ErrorCode.notFound, `${uri.fsPath} does not exist`, { kind: 'file', id: uri.fsPath });
  }
}

export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}

/** Creates a file, and its folder if necessary. */
export async function create(uri: vscode.Uri, content: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { contents: new TextEncoder().encode(content) });
  await apply(edit, uri);
}

/**
 * Replaces the text of a document by one edit, which can be undone. It changes only the lines that differ, so cursors and
 * folds elsewhere stay. Reports whether the text was another one.
 */
export async function replaceText(document: vscode.TextDocument, content: string): Promise<boolean> {
  const changes = changesOf(document.getText(), content);
  const edit = new vscode.WorkspaceEdit();
  for (const { start, end, text } of changes) edit.replace(document.uri, new vscode.Range(document.positionAt(start), document.positionAt(end)), text);
  if (changes.length > 0) await apply(edit, document.uri);
  return changes.length > 0;
}

async function apply(edit: vscode.WorkspaceEdit, uri: vscode.Uri): Promise<void> {
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(vscode.l10n.t('{0}: the editor did not apply the edit', uri.fsPath));
}
