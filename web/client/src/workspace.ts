import type { RequestHandlers } from './api.js';
import { RpcError } from './errors.js';
import type { ListedFile, ServerRequests } from './protocol.js';
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
  /** The text as the user sees it, saved or not; undefined for no file. */
  read(path: string): string | undefined | Promise<string | undefined>;
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

/** Returns handlers that serve the files of the folder `cwd`, which is the one that `newSession` names. */
export function serveWorkspace(cwd: string, files: WorkspaceFiles): WorkspaceHandlers {
  const lists = new Lists(files);
  const nameOf = (path: string): string => {
    const name = below(cwd, path);
    if (name === undefined) throw new RpcError(ErrorCode.invalidParams, `${path} is not in ${cwd}`);
    return name;
  };
  const existing = async (path: string): Promise<{ name: string; text: string }> => {
    const name = nameOf(path);
    const text = await files.read(name);
    if (text === undefined) throw new RpcError(ErrorCode.notFound, `${path} does not exist`);
    return { name, text };
  };
  return {
    async readTextFile({ path, line = 1, limit }) {
      const { text } = await existing(path);
      return { content: linesOf(text, line, limit) };
    },
    async writeTextFile({ path, content }) {
      await files.write(nameOf(path), content);
      return null;
    },
    workspace: {
      list: (params) => lists.page(params),
      async delete({ path }) {
        const { name } = await existing(path);
        await files.delete(name);
        return null;
      },
      async move({ path, newPath }) {
        const { name } = await existing(path);
        const to = nameOf(newPath);
        if ((await files.read(to)) !== undefined) throw new RpcError(ErrorCode.invalidParams, `${newPath} exists`);
        await files.move(name, to);
        return null;
      },
    },
  };
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

type ListRequest = ServerRequests['_strata/workspace/list'];

/** Returns lists of files in pages. A list of several pages is that of its first page. */
class Lists {
  readonly #files: WorkspaceFiles;
  readonly #origin = newOrigin();
  #number = 0;
  #newest: ListedFile[] | undefined;
  readonly #open = new Map<number, ListedFile[]>();

  constructor(files: WorkspaceFiles) {
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
    if (!this.#newest || !same(this.#newest, files)) this.#number++;
    this.#newest = files;
    const number = this.#number;
    if (since !== undefined && since === this.#version(number) && files.every(({ version }) => version !== undefined)) return { unchanged: true };
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
    };
  }

  #version(number: number): string {
    return `${this.#origin}-${number}`;
  }
}

/** Returns the start of versions that no earlier object has used, for example one before a reload. */
const newOrigin = (): string => Math.random().toString(36).slice(2);

function same(a: ListedFile[], b: ListedFile[]): boolean {
  const equal = (x: ListedFile, y: ListedFile) => x.path === y.path && x.size === y.size && x.modified === y.modified && x.version === y.version;
  return a.length === b.length && a.every((file, i) => equal(file, b[i]!));
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
