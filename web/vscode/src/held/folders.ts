import * as vscode from 'vscode';
import { ErrorCode, RpcError, serveFolder, type NewSessionParams, type ServerRequests, type ServeOptions } from '@strata/client';
import { HeldFiles } from './files.js';
import { nameOf, restOf } from './names.js';
import { DocumentVersions } from './versions.js';

type Served = ReturnType<typeof serveFolder>;
type Request<M extends keyof ServerRequests> = [params: ServerRequests[M]['params'], options: ServeOptions];

/** The folders of the window whose files only the editor has: sessions work on them by requests to this window. */
export class HeldFolders implements vscode.Disposable {
  readonly #isHeld: (folder: vscode.Uri) => boolean;
  readonly #versions = new DocumentVersions();
  /** By the name of the folder, from its first request on. */
  readonly #served = new Map<string, Served>();

  /** `isHeld` reports whether the server does not have a folder. */
  constructor(isHeld: (folder: vscode.Uri) => boolean) {
    this.#isHeld = isHeld;
  }

  /** Returns the path by which the server knows a file of these folders. */
  path(uri: vscode.Uri): string | undefined {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    return folder && this.#isHeld(folder.uri) ? nameOf(uri) : undefined;
  }

  /** Returns the URI of a path by which the server knows a file of these folders. */
  uri(path: string): vscode.Uri | undefined {
    const folder = this.#folderOf(path);
    return folder && vscode.Uri.joinPath(folder, restOf(path, nameOf(folder)) ?? '');
  }

  /** Returns the parameters of a new session in a folder, which may be one that the server has. */
  sessionIn(cwd: string): NewSessionParams {
    const isHeld = this.#folderOf(cwd) !== undefined;
    return { cwd, mcpServers: [], ...(isHeld ? { _meta: { strata: { workspace: 'client' } } } : {}) };
  }

  /** Serves the requests for files, for the handlers of `connect`. */
  readonly handlers = {
    list: (...[params, options]: Request<'_strata/workspace/list'>) => this.#of(params.folder).list(params, options),
    read: (...[params, options]: Request<'_strata/workspace/read'>) => this.#of(params.folder).read(params, options),
    delete: (...[params, options]: Request<'_strata/workspace/delete'>) => this.#of(params.path).delete(params, options),
    move: (...[params, options]: Request<'_strata/workspace/move'>) => this.#of(params.path).move(params, options),
  };

  dispose(): void {
    this.#versions.dispose();
  }

  /** Returns the innermost folder that contains a path. */
  #folderOf(path: string): vscode.Uri | undefined {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri).filter((uri) => this.#isHeld(uri) && restOf(path, nameOf(uri)) !== undefined);
    return folders.sort((a, b) => b.path.length - a.path.length)[0];
  }

  /** Returns the handlers of the folder that contains a path. The server asks another client if there is none. */
  #of(path: string): Served {
    const folder = this.#folderOf(path);
    if (!folder) throw new RpcError(ErrorCode.invalidParams, `${path} is in no folder of this window`);
    const name = nameOf(folder);
    const served = this.#served.get(name) ?? serveFolder(name, new HeldFiles(folder, this.#versions));
    this.#served.set(name, served);
    return served;
  }
}
