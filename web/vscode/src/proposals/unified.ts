import { applied, type Hunk } from './hunks.js';

/** The change of one file in a diff in the unified format. */
export interface FilePatch {
  /** The path in the diff, undefined if it has none. */
  path?: string;
  state: 'changed' | 'new' | 'deleted';
  hunks: Hunk[];
}

/** Maximum number of files and of hunks of a diff that are read. */
const MAX_FILES = 20;
const MAX_HUNKS = 1000;

/** Reports whether a text in a language is a diff in the unified format. Models omit the heads of hunks. */
export const isUnified = (text: string, language: string): boolean =>
  /^[-+]/m.test(text) && (/^@@.*@@/m.test(text) || /^(?:diff|patch)$/i.test(language));

/**
 * Returns the changes of a diff in the unified format, by file. Models count badly: the lengths in the heads of hunks are
 * ignored, and the line numbers are only hints. It throws if the diff is larger than the limits.
 */
export function filesOf(diff: string): FilePatch[] {
  const files: FilePatch[] = [];
  let file: FilePatch | undefined;
  let hunk: Lines | undefined;
  const lines = diff.replaceAll('\r\n', '\n').replace(/\n+$/, '').split('\n');
  const hasHeads = lines.some((line) => line.startsWith('@@'));
  const begin = (next: FilePatch): FilePatch => {
    if (files.length >= MAX_FILES) throw new Error(`the diff has more than ${MAX_FILES} files`);
    files.push(next);
    hunk = undefined;
    return next;
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const next = lines[i + 1] ?? '';
    if (line.startsWith('--- ') && next.startsWith('+++ ')) {
      file = begin(headOf(line, next));
      i++;
    } else if (/^diff --git /.test(line)) {
      hunk = undefined;
    } else if (line.startsWith('@@')) {
      file ??= begin({ state: 'changed', hunks: [] });
      if (file.hunks.length >= MAX_HUNKS) throw new Error(`the diff has more than ${MAX_HUNKS} hunks`);
      hunk = new Lines(file, line);
    } else {
      if (!hunk && !hasHeads && /^[-+ ]/.test(line)) hunk = new Lines((file ??= begin({ state: 'changed', hunks: [] })), '');
      hunk?.add(line);
    }
  }
  return files.filter(({ hunks }) => hunks.length > 0);
}

/** Returns a text with the changes of a file, null if one does not fit. The text keeps the lack of a line end at its end. */
export function patched(text: string, { state, hunks }: FilePatch): string | null {
  if (state === 'new' && text !== '') return null;
  if (text === '' || /\n$/.test(text)) return applied(text, hunks);
  const result = applied(`${text}${text.includes('\r\n') ? '\r\n' : '\n'}`, hunks);
  return result && result.replace(/\r?\n$/, '');
}

/** Returns the file of the two lines before the hunks. */
function headOf(before: string, after: string): FilePatch {
  const [old, now] = [pathOf(before), pathOf(after)];
  const path = now ?? old;
  return { ...(path === undefined ? {} : { path }), state: old === undefined ? 'new' : now === undefined ? 'deleted' : 'changed', hunks: [] };
}

/** Returns the path of a line such as `+++ b/main.go`, undefined for /dev/null. */
function pathOf(line: string): string | undefined {
  const path = line.slice(4).replace(/\t.*$/, '').trim();
  return path === '/dev/null' ? undefined : path.replace(/^[ab]\//, '');
}

/** The lines of a hunk, which grows as they are read. */
class Lines {
  readonly #hunk: Hunk;

  constructor(file: FilePatch, head: string) {
    const oldLine = Number(/^@@ -(\d+)/.exec(head)?.[1] ?? NaN);
    this.#hunk = { old: '', new: '', ...(Number.isFinite(oldLine) ? { oldLine: Math.max(oldLine, 1) } : {}) };
    file.hunks.push(this.#hunk);
  }

  add(line: string): void {
    if (line.startsWith('\\')) return; // no newline at the end of the file
    const text = `${line.slice(1)}\n`;
    if (!line.startsWith('+')) this.#hunk.old += text;
    if (!line.startsWith('-')) this.#hunk.new += text;
  }
}
