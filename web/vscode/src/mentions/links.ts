import * as vscode from 'vscode';
import { fileURI } from '../../../hud/src/text/format.js';
import type { Files } from '../workspace/files.js';

/** Lines of a file, from 1 on, both included. */
export interface Lines {
  first: number;
  last: number;
}

/** A link of a prompt to a file, or to lines of it. */
export interface Link {
  name: string;
  uri: string;
}

/** Returns the lines of a selection. A line of which it has no character does not count. */
export function linesOfSelection({ start, end }: vscode.Range): Lines {
  const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
  return { first: start.line + 1, last };
}

/** Returns a link to a file, by its URI on the server; undefined if the server does not have it. */
export function linkTo(files: Files, uri: vscode.Uri, lines?: Lines): Link | undefined {
  const path = files.path(uri);
  if (path === undefined) return undefined;
  const fragment = lines ? `#L${lines.first}:${lines.last}` : '';
  return { name: vscode.workspace.asRelativePath(uri, false) + fragment, uri: fileURI('', path) + fragment };
}
