import * as vscode from 'vscode';
import { ErrorCode, RpcError, type RequestHandlers } from '@strata/client';
import { HeldFolders } from '../held/folders.js';
import { settings } from '../settings.js';
import { changeOf, linesOf } from './lines.js';
import { mappingsOf, pathOf, uriOf } from './paths.js';

/** The files of the server in the editor. */
export class Files {
  /** Whether paths of the server are files of this machine, unless a setting maps them. */
  readonly #local: boolean;

  constructor(local: boolean) {
    this.#local = local;
  }

  /** The folders of which the server has no copy. */
  readonly held = new HeldFolders((folder) => this.#pathOf(folder) === undefined);

  /** Returns the URI of a path of the server, undefined if the editor does not have it. */
  uri(path: string): vscode.Uri | undefined {
    const mapped = uriOf(path, mappingsOf(settings.pathMappings));
    if (mapped !== undefined) return vscode.Uri.parse(mapped, true);
    return this.held.uri(path) ?? (this.#local ? vscode.Uri.file(path) : undefined);
  }

  /** Returns the path by which the server knows a URI, undefined if it is in no folder of sessions. */
  path(uri: vscode.Uri): string | undefined {
    return this.#pathOf(uri) ?? this.held.path(uri);
  }

  #pathOf(uri: vscode.Uri): string | undefined {
    const mapped = pathOf(uri.toString(), mappingsOf(settings.pathMappings));
    if (mapped !== undefined) return mapped;
    return this.#local && uri.scheme === 'file' ? uri.fsPath : undefined;
  }

  readonly handlers: Required<Pick<RequestHandlers, 'readTextFile' | 'writeTextFile'>> = {
    readTextFile: async ({ path, line, limit }) => {
      const document = await open(this.#known(path));
      return { content: linesOf(document.getText(), line, limit) };
    },
    writeTextFile: async ({ path, content }) => {
      await write(this.#known(path), content);
      return null;
    },
  };

  #known(path: string): vscode.Uri {
    const uri = this.uri(path);
    if (!uri) throw new RpcError(ErrorCode.notFound, `${path} is not in the workspace of the editor`, { kind: 'file', id: path });
    return uri;
  }
}

/** Returns the document of a file, with unsaved text. */
async function open(uri: vscode.Uri): Promise<vscode.TextDocument> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch (error) {
    if (await exists(uri)) throw error;
    throw new RpcError(ErrorCode.notFound, `${uri.fsPath} does not exist`, { kind: 'file', id: uri.fsPath });
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}

/**
 * Replaces the text of a file by one edit, which can be undone. A document without unsaved text is saved, so that commands
 * see the edit; one with unsaved text stays unsaved, because that text is not the server's to save.
 */
async function write(uri: vscode.Uri, content: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  if (!(await exists(uri))) {
    edit.createFile(uri, { contents: new TextEncoder().encode(content) });
    return apply(edit, uri);
  }
  const document = await open(uri);
  const change = changeOf(document.getText(), content);
  if (!change) return;
  const unsaved = document.isDirty;
  edit.replace(uri, new vscode.Range(document.positionAt(change.start), document.positionAt(change.end)), change.text);
  await apply(edit, uri);
  if (!unsaved && !(await document.save())) throw new Error(`${uri.fsPath}: the editor could not save the file`);
}

async function apply(edit: vscode.WorkspaceEdit, uri: vscode.Uri): Promise<void> {
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`${uri.fsPath}: the editor did not apply the edit`);
}
