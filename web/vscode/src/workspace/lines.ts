import { linesOf as compared, type DiffLine } from '../../../hud/src/text/diff.js';

/** Returns some lines of a text, from 1 on, with their line ends. */
export function linesOf(text: string, line = 1, limit = Infinity): string {
  if (line <= 1 && limit === Infinity) return text;
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return lines.slice(Math.max(line, 1) - 1, Math.max(line, 1) - 1 + limit).join('');
}

/** The smallest change of a text, in UTF-16 units: the range that is replaced, and the new text. */
export interface Change {
  start: number;
  end: number;
  text: string;
}

/**
 * Returns the change that makes one text of another, null if they are equal. Line ends of the new text become those of the
 * old one, so that a text with CRLF keeps them. A pair of surrogates and a CRLF are not divided.
 */
export const changeOf = (before: string, after: string): Change | null => between(before, withLineEndsOf(before, after));

/** Returns a text with the line ends of another one. */
const withLineEndsOf = (before: string, text: string): string =>
  /\r\n/.test(before) ? text.replace(/\r?\n/g, '\r\n') : text.replace(/\r\n/g, '\n');

function between(before: string, wanted: string): Change | null {
  if (before === wanted) return null;
  const most = Math.min(before.length, wanted.length);
  let start = 0;
  while (start < most && before[start] === wanted[start]) start++;
  while (start > 0 && (divides(before, start) || divides(wanted, start))) start--;
  let same = 0;
  while (same < most - start && before[before.length - 1 - same] === wanted[wanted.length - 1 - same]) same++;
  while (same > 0 && (divides(before, before.length - same) || divides(wanted, wanted.length - same))) same--;
  return { start, end: before.length - same, text: wanted.slice(start, wanted.length - same) };
}

/**
 * Returns the changes that make one text of another, in the order of the text: one for each group of lines that differ. Line
 * ends of the new text become those of the old one.
 */
export function changesOf(before: string, after: string): Change[] {
  const wanted = withLineEndsOf(before, after);
  const changes = groups(before, wanted);
  if (changed(before, changes) === wanted) return changes;
  const whole = between(before, wanted); // a last line without a line end is in no group
  return whole ? [whole] : [];
}

/** Returns a text with changes, which are in the order of the text. */
export function changed(text: string, changes: readonly Change[]): string {
  let at = 0;
  const parts: string[] = [];
  for (const change of changes) {
    parts.push(text.slice(at, change.start), change.text);
    at = change.end;
  }
  return parts.join('') + text.slice(at);
}

/** Returns the changes of the groups of lines that differ, each as small as possible. */
function groups(before: string, after: string): Change[] {
  const changes: Change[] = [];
  let [oldAt, newAt, oldStart, newStart] = [0, 0, 0, 0];
  const close = (): void => {
    const change = between(before.slice(oldStart, oldAt), after.slice(newStart, newAt));
    if (change) changes.push({ start: oldStart + change.start, end: oldStart + change.end, text: change.text });
  };
  const size = ({ text, open }: DiffLine): number => text.length + (open ? 0 : 1);
  for (const line of compared({ old: before, new: after })) {
    if (line.sign === ' ') {
      close();
      oldStart = oldAt += size(line);
      newStart = newAt += size(line);
    } else if (line.sign === '-') oldAt += size(line);
    else newAt += size(line);
  }
  close();
  return changes;
}

/** Reports whether an offset is between the two units of one character, or within a CRLF. */
function divides(text: string, at: number): boolean {
  const pair = text.slice(at - 1, at + 1);
  return pair === '\r\n' || /^[\ud800-\udbff][\udc00-\udfff]$/.test(pair);
}
