import type { CallOptions, Client } from './api.js';
import { asError } from './errors.js';
import type { Methods, TransferLine } from './protocol.js';

/** The names of an object's members, never for an object of any members. */
type Names<T> = string extends keyof T ? never : keyof T;

/** A method that returns a list in pages. */
export type PagedMethod = {
  [M in keyof Methods]: 'cursor' extends Names<Methods[M]['params']> ? ('nextCursor' extends Names<Methods[M]['result']> ? M : never) : never;
}[keyof Methods];

/** Where the items of a page are, and whether they have to be turned so that all pages together are in one order. */
const LISTS = {
  'session/list': ['sessions', false],
  '_strata/session/list_deleted': ['sessions', false],
  '_strata/session/export': ['lines', false],
  '_strata/session/search': ['sessions', false],
  '_strata/history/list': ['messages', true],
  '_strata/history/find': ['places', false],
  '_strata/history/search': ['hits', false],
  '_strata/history/edits': ['edits', true],
  '_strata/turn/changes': ['changes', false],
  '_strata/usage/list': ['calls', 'newest'],
} as const satisfies { [M in PagedMethod]: readonly [keyof Methods[M]['result'], boolean | keyof Methods[M]['params']] };

/** An item of a paged list. */
export type Item<M extends PagedMethod> = Methods[M]['result'][(typeof LISTS)[M][0] & keyof Methods[M]['result']] extends readonly (infer T)[]
  ? T
  : never;

/** Yields the pages of a list, from that of `params.cursor` on. Each page is fetched when it is asked for. */
export async function* pages<M extends PagedMethod>(
  client: Pick<Client, 'call'>,
  method: M,
  params: Methods[M]['params'],
  options: CallOptions = {},
): AsyncGenerator<Methods[M]['result'], void, undefined> {
  let now = params;
  for (;;) {
    const page = await client.call(method, now, options);
    yield page;
    const { nextCursor } = page as unknown as { nextCursor?: string };
    if (nextCursor === undefined) return;
    if (nextCursor === (now as unknown as { cursor?: string }).cursor) throw new Error(`${method}: the server repeats the page ${nextCursor}`);
    now = { ...now, cursor: nextCursor };
  }
}

/**
 * Yields the items of a list, and fetches the next page when it is needed. Lists whose first page is the newest one, such
 * as `_strata/history/list`, are yielded from the newest item to the oldest.
 */
export async function* items<M extends PagedMethod>(
  client: Pick<Client, 'call'>,
  method: M,
  params: Methods[M]['params'],
  options: CallOptions = {},
): AsyncGenerator<Item<M>, void, undefined> {
  const [name, backwards] = LISTS[method] as readonly [string, boolean | string];
  const turned = typeof backwards === 'string' ? (params as unknown as { [name: string]: unknown })[backwards] === true : backwards;
  for await (const page of pages(client, method, params, options)) {
    const list = (page as unknown as { [name: string]: Item<M>[] })[name]!;
    yield* turned ? [...list].reverse() : list;
  }
}

/**
 * Yields the lines of a session's export, each a line of a JSON Lines file without its line break. `_strata/session/import`
 * reads them.
 */
export async function* exportLines(client: Pick<Client, 'call'>, sessionId: string, options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
  for await (const line of items(client, '_strata/session/export', { sessionId }, options)) yield JSON.stringify(line);
}

/** The maximum number of lines in a page of an import, and of their characters. A longer line has a page of its own. */
const PAGE_LINES = 400;
const PAGE_CHARS = 1 << 20;

export interface ImportOptions extends CallOptions {
  /** A folder other than that of the exported session. */
  cwd?: string;
  /** Called after each page with the number of lines that the server has. */
  onPage?: (lines: number) => void;
}

/**
 * Imports the lines of an export as a new session, in pages, and returns its id. Blank lines are skipped. The session
 * appears after the last page: if a line is not valid JSON, the server refuses one, or the signal is aborted, there is none.
 */
export async function importLines(
  client: Pick<Client, 'call'>,
  lines: Iterable<string> | AsyncIterable<string>,
  { cwd, onPage, signal }: ImportOptions = {},
): Promise<string> {
  let page: TransferLine[] = [];
  let [chars, sent, number] = [0, 0, 0];
  let importId: string | undefined;
  const send = async (done?: true): Promise<string | undefined> => {
    const first = importId === undefined && cwd !== undefined ? { cwd } : {};
    const params = { ...first, ...(importId === undefined ? {} : { importId }), lines: page, ...(done ? { done } : {}) };
    const result = await client.call('_strata/session/import', params, signal ? { signal } : {});
    importId = result.importId ?? importId;
    sent += page.length;
    [page, chars] = [[], 0];
    onPage?.(sent);
    return result.sessionId;
  };
  for await (const line of lines) {
    number++;
    if (line.trim() === '') continue;
    if (page.length >= PAGE_LINES || (page.length > 0 && chars + line.length > PAGE_CHARS)) await send();
    page.push(parsed(line, number));
    chars += line.length;
  }
  const id = await send(true);
  if (id === undefined) throw new Error('the server returned no session id');
  return id;
}

function parsed(line: string, number: number): TransferLine {
  try {
    return JSON.parse(line) as TransferLine;
  } catch (error) {
    throw new Error(`line ${number}: ${asError(error).message}`);
  }
}
