import type { CallOptions, Client } from './api.js';
import type { Methods } from './protocol.js';

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
