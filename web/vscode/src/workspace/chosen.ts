import * as vscode from 'vscode';

/** What a menu gives to a command: a file, a changed file of the source control view, or where a tab is. */
export type Given = vscode.Uri | { resourceUri?: vscode.Uri } | undefined;

/**
 * Returns the files that a command is for: all selected ones if the menu gives them, otherwise the one that it was opened
 * for, otherwise that of the active editor.
 */
export function chosenFiles(given: Given, more: readonly (Given | Given[])[]): vscode.Uri[] {
  const selected = more.find((one): one is Given[] => Array.isArray(one));
  const all = selected && selected.length > 0 ? selected : [given, ...(more as readonly Given[])];
  const uris = all.flatMap((one) => (one instanceof vscode.Uri ? one : (one?.resourceUri ?? [])));
  const active = vscode.window.activeTextEditor?.document.uri;
  const chosen = uris.length > 0 ? uris : active ? [active] : [];
  if (chosen.length === 0) throw new Error(vscode.l10n.t('open or select a file first'));
  return chosen;
}
