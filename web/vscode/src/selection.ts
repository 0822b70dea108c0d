import type * as vscode from 'vscode';

const PAUSE = 50; // ms
const MAX_PAUSES = 20;

/** Returns the selected nodes of a tree. While the editor loads the nodes again, it reports none of them as selected. */
export async function selectionOf<Node>(view: vscode.TreeView<Node>): Promise<readonly Node[]> {
  for (let pauses = 0; view.selection.length === 0 && pauses < MAX_PAUSES; pauses++) await new Promise((resolve) => setTimeout(resolve, PAUSE));
  return view.selection;
}
