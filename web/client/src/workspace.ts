import type { RequestHandlers, WorkspaceRequestHandlers } from './api.js';
import { RpcError } from './errors.js';
import type { ListedFile, ReadFile, ServerRequests } from './protocol.js';
import { ErrorCode } from './protocol.js';

/** A file of a workspace, by its path relative to the folder, with slashes. */
export interface WorkspaceFile {
  path: string;
  /** In bytes. */
  size?: number;
  /** Unix time in milliseconds. */
  modified?: number;
  /**
   * Changes with each change of the text, saved or not, and never returns. Without it, the server reads the file again before
   * each request that contains it.
   */
  version?: string;
}

/** The files of a frontend, for sessions with the workspace `client`. Paths are relative to the folder, with slashes. */
export interface WorkspaceFiles {
  /** The files that a search or a list should show: without those that git ignores. */
  list(): Iterable<WorkspaceFile> | Promise<Iterable<WorkspaceFile>>;
  /** Whether the last list lacks files, for example above a limit. Optional. */
  readonly isIncomplete?: boolean;
  /** The text as the user sees it, saved or not; undefined for no file. */
  read(path: string): string | undefined | Promise<string | undefined>;
  /** The present version of the text that `read` returns, as in the list. Optional. */
  version?(path: string): string | undefined | Promise<string | undefined>;
  /** The bytes of a file, for pictures; undefined for no file. Optional. */
  readBytes?(path: string): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Creates a file with its folders, or replaces its text. */
  write(path: string, text: string): unknown;
  delete(path: string): unknown;
  /** Never called if there is a file at `to`. */
  move(from: string, to: string): unknown;
}

/** The handlers of a workspace; they belong into the `handlers` of `connect`. */
export type WorkspaceHandlers = Required<Pick<RequestHandlers, 'readTextFile' | 'writeTextFile' | 'workspace'>>;

/** The number of lists whose pages can still be fetched. */
const MAX_LISTS = 4;

/** Identifies the files of a workspace. */
export interface WorkspaceOptions {
  /** Distinguishes the files from those of other clients that use the same folder name. */
  id?: string;
}

/**
 * Returns handlers that serve the files of the folder `cwd`, which is the one that `newSession` names. Requests for another
 * folder are refused: the server then asks another client.
 */
export function serveWorkspace(cwd: string, files: WorkspaceFiles, options: WorkspaceOptions = {}): WorkspaceHandlers {
  return {
    async readTextFile({ path, line = 1, limit }) {
      const { text } = await existing(cwd, files, path);
      return { content: linesOf(text, line, limit) };
    },
    async writeTextFile({ path, content }) {
      await files.write(nameIn(cwd, path), content);
      return null;
    },
    workspace: serveFolder(cwd, files, options),
  };
}

/** Returns only the handlers of `_strata/workspace/`, for a frontend that has `readTextFile` and `writeTextFile` of its own. */
export function serveFolder(cwd: string, files: Omit<WorkspaceFiles, 'write'>, { id }: WorkspaceOptions = {}): Required<Omit<WorkspaceRequestHandlers, 'id'>> & WorkspaceOptions {
  const lists = new Lists(files);
  const checkFolder = (folder: string): void => {
    if (folder !== withoutEnd(cwd)) throw new RpcError(ErrorCode.invalidParams, `no files of ${folder}`);
  };
  return {
    ...(id !== undefined ? { id } : {}),
    async list(params) {
      checkFolder(params.folder);
      return lists.page(params);
    },
    async read({ folder, paths, encoding = 'text', maxFileBytes, maxBytes }) {
      checkFolder(folder);
      const all: ReadFile[] = [];
      let size = 0;
      for (const path of paths) {
        const [file, bytes] = await readOne(files, path, encoding === 'base64', maxFileBytes);
        if (all.length > 0 && size + bytes > maxBytes) break;
        all.push(file);
        size += bytes;
      }
      return { files: all };
    },
    async delete({ path }, { signal }) {
      const { name } = await existing(cwd, files, path);
      signal.throwIfAborted(); // the server no longer waits, and the file may be another one now
      await files.delete(name);
      return null;
    },
    async move({ path, newPath }, { signal }) {
      const { name } = await existing(cwd, files, path);
      const to = nameIn(cwd, newPath);
      if ((await files.read(to)) !== undefined) throw new RpcError(ErrorCode.invalidParams, `${newPath} exists`);
      signal.throwIfAborted();
      await files.move(name, to);
      return null;
    },
  };
}

function nameIn(cwd: string, path: string): string {
  const name = below(cwd, path);
  if (name === undefined) throw new RpcError(ErrorCode.invalidParams, `${path} is not in ${cwd}`);
  return name;
}

async function existing(cwd: string, files: Pick<WorkspaceFiles, 'read'>, path: string): Promise<{ name: string; text: string }> {
  const name = nameIn(cwd, path);
  const text = await files.read(name);
  if (text === undefined) throw new RpcError(ErrorCode.notFound, `${path} does not exist`);
  return { name, text };
}

/** Files that are texts in memory. */
export class TextFiles implements WorkspaceFiles {
  readonly #texts = new Map<string, { text: string; version: string }>();
  readonly #origin = newOrigin();
  #version = 0;

  /** Called after each change, also one by the server. */
  onChange?: (path: string) => void;

  constructor(texts: { [path: string]: string } = {}) {
    for (const [path, text] of Object.entries(texts)) this.write(path, text);
  }

  list(): WorkspaceFile[] {
    return [...this.#texts].map(([path, { text, version }]) => ({ path, size: new TextEncoder().encode(text).length, version }));
  }

  read(path: string): string | undefined {
    return this.#texts.get(path)?.text;
  }

  version(path: string): string | undefined {
    return this.#texts.get(path)?.version;
  }

  write(path: string, text: string): void {
    this.#texts.set(path, { text, version: `${this.#origin}-${++this.#version}` });
    this.onChange?.(path);
  }

  delete(path: string): void {
    if (this.#texts.delete(path)) this.onChange?.(path);
  }

  move(from: string, to: string): void {
    const text = this.read(from);
    if (text === undefined) return;
    this.delete(from);
    this.write(to, text);
  }
}

/** Returns a file of a result, and the size of its text or bytes. */
async function readOne(files: Omit<WorkspaceFiles, 'write'>, path: string, asBytes: boolean, limit: number): Promise<[ReadFile, number]> {
  const failed = (code: number, message: string): [ReadFile, number] => [{ path, error: { code, message } }, 0];
  if (below('/', '/' + path) === undefined) return failed(ErrorCode.invalidParams, `${path} is not a path below the folder`);
  try {
    const before = await files.version?.(path);
    const text = asBytes && files.readBytes ? await files.readBytes(path) : await files.read(path);
    if (text === undefined) return failed(ErrorCode.notFound, `${path} does not exist`);
    const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    if (bytes.length > limit) return failed(ErrorCode.refusedPath, `${bytes.length} bytes exceeds the limit of ${limit}`);
    const version = before !== undefined && before === (await files.version?.(path)) ? { version: before } : {};
    return [{ path, ...(asBytes ? { data: base64(bytes) } : { content: text as string }), ...version }, bytes.length];
  } catch (error) {
    return failed(error instanceof RpcError ? error.code : ErrorCode.internal, error instanceof Error ? error.message : String(error));
  }
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

type ListRequest = ServerRequests['_strata/workspace/list'];

/** Returns lists of files in pages. A list of several pages is that of its first page. */
class Lists {
  readonly #files: Pick<WorkspaceFiles, 'list' | 'isIncomplete'>;
  readonly #origin = newOrigin();
  #number = 0;
  #newest: ListedFile[] | undefined;
  readonly #open = new Map<number, ListedFile[]>();

  constructor(files: Pick<WorkspaceFiles, 'list' | 'isIncomplete'>) {
    this.#files = files;
  }

  async page({ since, cursor, limit }: ListRequest['params']): Promise<ListRequest['result']> {
    if (cursor !== undefined) {
      const [number, start] = cursor.split(':').map(Number);
      const files = this.#open.get(number!);
      if (!files) throw new RpcError(ErrorCode.invalidParams, 'the cursor has expired');
      return this.#pageOf(number!, files, start!, limit);
    }
    const files = [...(await this.#files.list())].map((file): ListedFile => ({ ...file }));
    const before = this.#newest;
    const known = before !== undefined && since === this.#version(this.#number);
    if (!before || !same(before, files)) this.#number++;
    this.#newest = files;
    const number = this.#number;
    if (since !== undefined && since === this.#version(number) && files.every(({ version }) => version !== undefined)) return { unchanged: true };
    const changes = known && changesOf(before, files);
    if (changes && changes.files.length <= limit) return { ...changes, version: this.#version(number), ...this.#lacks() };
    this.#open.delete(number);
    this.#open.set(number, files);
    for (const old of this.#open.keys()) if (this.#open.size > MAX_LISTS) this.#open.delete(old);
    return this.#pageOf(number, files, 0, limit);
  }

  #pageOf(number: number, files: ListedFile[], start: number, limit: number): ListRequest['result'] {
    const end = start + Math.max(limit, 1);
    return {
      files: files.slice(start, end),
      version: this.#version(number),
      ...(end < files.length ? { nextCursor: `${number}:${end}` } : {}),
      ...this.#lacks(),
    };
  }

  #lacks(): { incomplete?: true } {
    return this.#files.isIncomplete ? { incomplete: true } : {};
  }

  #version(number: number): string {
    return `${this.#origin}-${number}`;
  }
}

/** Returns the start of versions that no earlier object has used, for example one before a reload. */
const newOrigin = (): string => Math.random().toString(36).slice(2);

function same(a: ListedFile[], b: ListedFile[]): boolean {
  return a.length === b.length && a.every((file, i) => equal(file, b[i]!));
}

function equal(a: ListedFile, b: ListedFile): boolean {
  return a.path === b.path && a.size === b.size && a.modified === b.modified && a.version === b.version;
}

/** Returns what is different in the second list. A file without a version counts as changed. */
function changesOf(before: ListedFile[], now: ListedFile[]): { changes: true; files: ListedFile[]; removed: string[] } {
  const old = new Map(before.map((file) => [file.path, file]));
  const present = new Set(now.map(({ path }) => path));
  const files = now.filter((file) => {
    const last = old.get(file.path);
    return file.version === undefined || last === undefined || !equal(last, file);
  });
  return { changes: true, files, removed: before.filter(({ path }) => !present.has(path)).map(({ path }) => path) };
}

/** Returns the path of a folder without a slash at its end. */
function withoutEnd(folder: string): string {
  return folder.length > 1 ? folder.replace(/\/+$/, '') : folder;
}

/** Returns a path relative to a folder, undefined for one that is not below it. */
function below(folder: string, path: string): string | undefined {
  const start = folder.endsWith('/') ? folder : folder + '/';
  if (!path.startsWith(start)) return undefined;
  const name = path.slice(start.length);
  return name !== '' && name.split('/').every((step) => step !== '' && step !== '.' && step !== '..') ? name : undefined;
}

/** Returns lines of a text, from `line` on, with their line ends. */
function linesOf(text: string, line: number, limit?: number): string {
  if (line <= 1 && limit === undefined) return text;
  const lines = text.split(/(?<=\n)/);
  return lines.slice(line - 1, limit === undefined ? undefined : line - 1 + limit).join('');
}
