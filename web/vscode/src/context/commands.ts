import * as vscode from 'vscode';
import { ErrorCode, RpcError, type Client } from '@strata/client';
import { baseName } from '../format.js';
import { confirmed, inform, report } from '../notices.js';
import type { Connection } from '../server/connection.js';
import type { CurrentSession } from '../sessions/current.js';
import { chosenFiles, type Given } from '../workspace/chosen.js';
import type { Files } from '../workspace/files.js';
import { filesBelow } from './folder.js';
import { optionsOf } from './rows.js';
import type { ContextNode, FileNode } from './tree.js';

/** Number of files that are added without a question. */
const MANY = 20;

/** Maximum number of files of one command. */
const MAX_ADDED = 500;

/** The commands that add files to the context of the current session, and those of its tree. */
export class ContextCommands {
  readonly #connection: Connection;
  readonly #current: CurrentSession;
  readonly #files: Files;
  readonly #createSession: () => Promise<void>;
  readonly #selection: () => Promise<readonly ContextNode[]>;

  constructor(parts: { connection: Connection; current: CurrentSession; files: Files; createSession: () => Promise<void>; selection: () => Promise<readonly ContextNode[]> }) {
    this.#connection = parts.connection;
    this.#current = parts.current;
    this.#files = parts.files;
    this.#createSession = parts.createSession;
    this.#selection = parts.selection;
  }

  readonly table = {
    addToContext: (given: Given, ...more: (Given | Given[])[]) => this.add(chosenFiles(given, more)),
    removeFromContext: async (node?: ContextNode, nodes?: ContextNode[]) => this.#remove(await this.#chosen(node, nodes)),
    pinFile: async (node?: ContextNode, nodes?: ContextNode[]) => this.#pin(await this.#chosen(node, nodes), true),
    unpinFile: async (node?: ContextNode, nodes?: ContextNode[]) => this.#pin(await this.#chosen(node, nodes), false),
    clearContext: () => this.#clear(),
  };

  /** Adds files, and the files below folders, to the context of the current session. Without a session it creates one. */
  async add(uris: readonly vscode.Uri[]): Promise<void> {
    const client = this.#connection.required();
    if (this.#current.id === null) await this.#createSession();
    const sessionId = this.#current.id;
    if (sessionId === null) return;
    const paths = await this.#paths(client, sessionId, uris);
    if (paths.length > MANY && !(await confirmed(vscode.l10n.t('Add {0} files to the context?', paths.length), vscode.l10n.t('Add Files')))) return;
    const added = await eachFile(vscode.l10n.t('Adding files to the context'), paths, (path, signal) => addFile(client, sessionId, path, signal));
    if (added.length === 0) return;
    const text = added.length === 1 ? vscode.l10n.t('{0} added to the context.', baseName(added[0]!)) : vscode.l10n.t('{0} files added to the context.', added.length);
    vscode.window.setStatusBarMessage(text, SHOWN_MS);
  }

  /** Returns the paths of files on the server, with the files of folders. */
  async #paths(client: Client, sessionId: string, uris: readonly vscode.Uri[]): Promise<string[]> {
    const paths = new Set<string>();
    for (const uri of uris) {
      const path = this.#files.path(uri);
      if (path === undefined) throw new Error(vscode.l10n.t('{0} is not in a folder of the server', uri.toString(true)));
      const isFolder = ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.Directory) !== 0;
      for (const one of isFolder ? await filesBelow(client, sessionId, path) : [path]) paths.add(one);
    }
    if (paths.size > MAX_ADDED) throw new Error(vscode.l10n.t('{0} files exceed the limit of {1}', paths.size, MAX_ADDED));
    return [...paths];
  }

  async #chosen(node: ContextNode | undefined, nodes: readonly ContextNode[] | undefined): Promise<FileNode[]> {
    const all = nodes ?? (node ? [node] : await this.#selection());
    return all.filter((one): one is FileNode => 'file' in one);
  }

  /** Removes files from the context, and offers an undo that adds them as they were. */
  async #remove(nodes: readonly FileNode[]): Promise<void> {
    const { client, sessionId } = this.#session();
    const chosen = nodes.map(({ file }) => file).filter(({ read }) => !read);
    const removed = await eachFile(vscode.l10n.t('Removing files from the context'), chosen, async (file) => {
      await client.call('_strata/files/remove', { sessionId, path: file.path });
      return true;
    });
    if (removed.length === 0) return;
    const undo = vscode.l10n.t('Undo');
    const text = removed.length === 1 ? vscode.l10n.t('{0} removed from the context.', baseName(removed[0]!.path)) : vscode.l10n.t('{0} files removed from the context.', removed.length);
    if ((await inform(text, undo)) !== undo) return;
    const now = this.#connection.required(); // possibly another client
    for (const file of removed) await now.call('_strata/files/add', { sessionId, ...optionsOf(file) });
  }

  /** Pins files, which adds those that only tools have read; or unpins them. */
  async #pin(nodes: readonly FileNode[], pinned: boolean): Promise<void> {
    const { client, sessionId } = this.#session();
    for (const { file } of nodes) {
      const options = file.read ? { path: file.path } : optionsOf(file);
      await client.call('_strata/files/add', { sessionId, ...options, pinned, ...(pinned ? { once: false } : {}) });
    }
  }

  async #clear(): Promise<void> {
    const { client, sessionId } = this.#session();
    if (await confirmed(vscode.l10n.t('Remove all files from the context?'), vscode.l10n.t('Remove Files'))) await client.call('_strata/files/clear', { sessionId });
  }

  #session(): { client: Client; sessionId: string } {
    const client = this.#connection.required();
    if (this.#current.id === null) throw new Error(vscode.l10n.t('open a session first'));
    return { client, sessionId: this.#current.id };
  }
}

/** Time for which the status bar shows an outcome, in milliseconds. */
const SHOWN_MS = 4000;

/** Adds a file, and asks first if it looks like a secret. It reports whether the file was added. */
async function addFile(client: Client, sessionId: string, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.call('_strata/files/add', { sessionId, path }, { signal });
    return true;
  } catch (error) {
    if (!isSecret(error)) throw error;
    if (!(await confirmed(vscode.l10n.t('{0} looks like a secret. Its content would be sent to the model.', baseName(path)), vscode.l10n.t('Add Anyway')))) return false;
    await client.call('_strata/files/add', { sessionId, path, allow: true }, { signal });
    return true;
  }
}

const isSecret = (error: unknown): boolean => error instanceof RpcError && error.code === ErrorCode.refusedPath && error.data?.reason === 'secret';

/**
 * Does something with each file, with progress if there are many. It returns those for which it was done. The first failure
 * ends it, and is shown; the user can cancel it.
 */
async function eachFile<T>(title: string, files: readonly T[], run: (file: T, signal: AbortSignal) => Promise<boolean>): Promise<T[]> {
  const options = { location: files.length > 1 ? vscode.ProgressLocation.Notification : vscode.ProgressLocation.Window, title, cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    const done: T[] = [];
    try {
      for (const file of files) {
        if (token.isCancellationRequested) break;
        if (await run(file, abort.signal)) done.push(file);
        progress.report({ increment: 100 / files.length });
      }
    } catch (error) {
      if (!token.isCancellationRequested) report(error);
    }
    return done;
  });
}
