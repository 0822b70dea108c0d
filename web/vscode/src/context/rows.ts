import type { Breakdown, FileInfo, TierItem } from '@strata/client';

/** A file of the next request, or one that tools read. */
export interface ContextFile extends FileInfo {
  /** The tier of its item in the next request, "" if the request has none. */
  tier: string;
  /** The tokens of it that are sent but not needed until the next rebuild. */
  unused: number;
}

/** The files of a session, each list with the largest first. */
export interface Context {
  /** The files that were added. */
  files: ContextFile[];
  /** The files that tools read; their text is part of messages. */
  read: ContextFile[];
  /** The files that were removed; the next requests contain them until the next rebuild. */
  removed: { path: string; tokens: number; tier: string }[];
  /** The tokens of `files`. */
  tokens: number;
}

export const EMPTY: Context = { files: [], read: [], removed: [], tokens: 0 };

/** Returns the files of a session by its list of files, with tool-read ones, and its breakdown. */
export function contextOf(listed: readonly FileInfo[], breakdown: Pick<Breakdown, 'tiers'>): Context {
  const items = new Map(breakdown.tiers.flatMap(({ tier, items }) => items.map((item) => [item.key, { tier, item }] as const)));
  const all = listed.map((file): ContextFile => {
    const found = items.get(`file:${file.path}`);
    return { ...file, tier: found?.tier ?? '', unused: unusedOf(found?.item) };
  });
  const files = all.filter(({ read }) => !read).sort(largestFirst);
  const inside = new Set(files.map(({ path }) => `file:${path}`));
  const removed = [...items]
    .filter(([key, { item }]) => key.startsWith('file:') && !inside.has(key) && unusedOf(item) > 0)
    .map(([key, { tier, item }]) => ({ path: key.slice('file:'.length), tokens: unusedOf(item), tier }));
  return { files, read: all.filter(({ read }) => read).sort(largestFirst), removed: removed.sort(largestFirst), tokens: files.reduce((sum, file) => sum + file.tokens, 0) };
}

const unusedOf = (item: TierItem | undefined): number => (item?.leaves ? item.tokens : (item?.dead ?? 0));

const largestFirst = (a: { path: string; tokens: number }, b: { path: string; tokens: number }): number => b.tokens - a.tokens || a.path.localeCompare(b.path);

/** Whether requests contain some of the text of a file, or its outline. */
export const isSeen = ({ state }: Pick<FileInfo, 'state'>): boolean => state !== 'not_available';

/** Returns the parameters of `_strata/files/add` that add a file as it is in the session. */
export function optionsOf({ path, state, reason, range, once, pinned, lineNumbers }: FileInfo) {
  return {
    path,
    ...(state === 'summary_only' && reason !== 'over_budget' ? { state: 'summary' as const } : {}),
    ...(range && reason !== 'cut_to_fit' ? { range } : {}),
    ...(once ? { once } : {}),
    ...(pinned ? { pinned } : {}),
    ...(lineNumbers ? { lineNumbers } : {}),
  };
}

/** Returns the absolute path of a file of a session. */
export const absolute = (cwd: string, path: string): string => (/^([\\/]|[A-Za-z]:[\\/])/.test(path) ? path : `${cwd.replace(/[\\/]+$/, '')}/${path}`);
