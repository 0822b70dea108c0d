import type { ToolContent, ToolDiff } from '@strata/client';
import { applied, type Hunk } from './hunks.js';

/** The change of one file that a call would make. */
export interface FileChange {
  /** The path on the server. */
  path: string;
  state: 'changed' | 'new' | 'deleted';
  hunks: Hunk[];
  /** The server omitted parts for their size. */
  isCut: boolean;
}

/** Returns the changes in the content of a call, by file. Files that are not text have none. */
export function changesOfCall(content: readonly ToolContent[]): FileChange[] {
  const files = new Map<string, FileChange>();
  for (const diff of content) {
    if (diff.type !== 'diff') continue;
    const file = files.get(diff.path) ?? { path: diff.path, state: stateOf(diff), hunks: [], isCut: false };
    const { oldLine, cut } = diff._meta?.strata ?? {};
    file.isCut ||= cut === true;
    file.hunks.push({ old: diff.oldText ?? '', new: diff.newText, ...(oldLine === undefined ? {} : { oldLine }) });
    files.set(diff.path, file);
  }
  return [...files.values()].filter(({ hunks }) => hunks.some((hunk) => hunk.old !== hunk.new));
}

const stateOf = ({ oldText, _meta }: ToolDiff): FileChange['state'] =>
  _meta?.strata?.deleted ? 'deleted' : oldText === null || oldText === undefined ? 'new' : 'changed';

/** Returns the text that a file gets by a change, null if the change does not fit its text. */
export function textAfter(text: string, { state, hunks }: FileChange): string | null {
  if (state === 'deleted') return '';
  if (state === 'new') return text === '' ? hunks.map((hunk) => hunk.new).join('') : null;
  return applied(text, hunks);
}

/** Returns the lines of a change only, with a mark between distant ones. */
export function excerptOf({ hunks }: FileChange): { old: string; new: string } {
  const joined = (texts: string[]): string => texts.join('⋯\n');
  return { old: joined(hunks.map((hunk) => hunk.old)), new: joined(hunks.map((hunk) => hunk.new)) };
}
