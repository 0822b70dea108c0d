import * as vscode from 'vscode';
import { ErrorCode, RpcError, type WorkspaceFile, type WorkspaceFiles } from '@strata/client';
import type { DocumentVersions } from './versions.js';
import { walk } from './walk.js';

/** The maximum size of a file that is read, in bytes. The server uses no larger ones. */
const MAX_BYTES = 16 << 20;

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
    return paths.map((path) => {
      const version = this.version(path);
      return version === undefined ? { path } : { path, version };
    });
  }

  version(path: string): string | undefined {
    return this.#versions.of(this.#uri(path));
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
