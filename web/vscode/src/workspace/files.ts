import * as vscode from 'vscode';
import { ErrorCode, RpcError, type RequestHandlers } from '@strata/client';
import { HeldFolders } from '../held/folders.js';
import { settings } from '../settings.js';
import { create, exists, open, replaceText } from './edits.js';
import { linesOf } from './lines.js';
import { mappingsOf, pathOf, uriOf } from './paths.js';
import { ReadVersions } from './versions.js';

/** The files of the server in the editor. */
export class Files {
  /** Whether paths of the server are files of this machine, unless a setting maps them. */
  readonly #local: boolean;
  readonly #read = new ReadVersions();

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
    readTextFile: async ({ sessionId, path, line, limit }) => {
      const document = await open(this.#known(path));
      this.#read.add(document, sessionId);
      return { content: linesOf(document.getText(), line, limit) };
    },
    writeTextFile: async ({ sessionId, path, content }, { signal }) => {
      await write(this.#known(path), content, (document) => this.#read.isNewest(document, sessionId), signal);
      return null;
    },
  };

  #known(path: string): vscode.Uri {
    const uri = this.uri(path);
    if (!uri) throw new RpcError(ErrorCode.notFound, `${path} is not in the workspace of the editor`, { kind: 'file', id: path });
    return uri;
  }
}

/**
 * Replaces the text of a file, or creates it. A document without unsaved text is saved, so that commands see the edit; one
 * with unsaved text stays unsaved, because that text is not the server's to save. Once the signal is aborted, it changes
 * nothing: the server no longer waits, and the file may have been changed again.
 */
async function write(uri: vscode.Uri, content: string, isNewest: (document: vscode.TextDocument) => boolean, signal: AbortSignal): Promise<void> {
  const isNew = !(await exists(uri));
  signal.throwIfAborted();
  if (isNew) return create(uri, content);
  const document = await open(uri);
  signal.throwIfAborted();
  if (!isNewest(document)) throw new Error(`${uri.fsPath} has changed since it was read`);
  const unsaved = document.isDirty;
  if (!(await replaceText(document, content)) || unsaved) return;
  if (!(await document.save())) throw new Error(`${uri.fsPath}: the editor could not save the file`);
}
