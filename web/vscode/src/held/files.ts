import * as vscode from 'vscode';
import { ErrorCode, RpcError, type WorkspaceFile, type WorkspaceFiles } from '@strata/client';
import type { DocumentVersions } from './versions.js';
import { walk } from './walk.js';

/** The maximum size of a file that is read, in bytes. The server uses no larger ones. */
const MAX_BYTES = 16 << 20;
/** The maximum number of files in a list with a version, which costs a request to the file system. It is the size of an index. */
const MAX_VERSIONS = 2_000;
/** The number of these requests at once. */
const CONCURRENT = 64;

/** The files of one folder. Texts are those that the user sees, saved or not. Deletes and moves can be undone in the editor. */
export class HeldFiles implements Omit<WorkspaceFiles, 'write'> {
  readonly #folder: vscode.Uri;
  readonly #versions: DocumentVersions;
  isIncomplete = false;

  constructor(folder: vscode.Uri, versions: DocumentVersions) {
    this.#folder = folder;
    this.#versions = versions;
  }

  async list(): Promise<WorkspaceFile[]> {
    const { paths, isComplete } = await walk(this.#folder);
    this.isIncomplete = !isComplete;
    const files: WorkspaceFile[] = paths.map((path) => ({ path }));
    for (let at = 0; at < Math.min(files.length, MAX_VERSIONS); at += CONCURRENT) {
      await Promise.all(files.slice(at, at + CONCURRENT).map(async (file) => Object.assign(file, await this.#stampOf(file.path))));
    }
    return files;
  }

  async version(path: string): Promise<string | undefined> {
    return (await this.#stampOf(path)).version;
  }

  async read(path: string): Promise<string | undefined> {
    const uri = this.#uri(path);
    const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    if (open) return open.getText();
    const bytes = await this.readBytes(path);
    return bytes && textOf(bytes, path);
  }

  async readBytes(path: string): Promise<Uint8Array | undefined> {
    const uri = this.#uri(path);
    try {
      const { size } = await vscode.workspace.fs.stat(uri);
      if (size > MAX_BYTES) throw new RpcError(ErrorCode.refusedPath, `${path}: ${size} bytes exceeds the limit of ${MAX_BYTES}`, { path, reason: 'too_large' });
      return await vscode.workspace.fs.readFile(uri);
    } catch (error) {
      if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return undefined;
      throw error;
    }
  }

  async delete(path: string): Promise<void> {
    const edit = new vscode.WorkspaceEdit();
    edit.deleteFile(this.#uri(path));
    await apply(edit, path);
  }

  async move(from: string, to: string): Promise<void> {
    const edit = new vscode.WorkspaceEdit();
    edit.renameFile(this.#uri(from), this.#uri(to), { overwrite: false });
    await apply(edit, from);
  }

  /**
   * Returns the version of a file: that of its document if it is open, otherwise the time and the size of the file. A file
   * system without times has no versions, so the server reads its files again before each request that contains them.
   */
  async #stampOf(path: string): Promise<{ size?: number; version?: string }> {
    const uri = this.#uri(path);
    const open = this.#versions.of(uri);
    if (open !== undefined) return { version: open };
    try {
      const { mtime, size } = await vscode.workspace.fs.stat(uri);
      return mtime > 0 ? { size, version: `${mtime}-${size}` } : { size };
    } catch {
      return {};
    }
  }

  #uri(path: string): vscode.Uri {
    return vscode.Uri.joinPath(this.#folder, path);
  }
}

/** Returns the text of bytes in UTF-8; others cannot be sent. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RpcError(ErrorCode.refusedPath, `${path} is not a text in UTF-8`, { path, reason: 'encoding' });
  }
}

async function apply(edit: vscode.WorkspaceEdit, path: string): Promise<void> {
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`${path}: the editor did not apply the change`);
}
