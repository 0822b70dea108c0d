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
export function changeOf(before: string, after: string): Change | null {
  const wanted = /\r\n/.test(before) ? after.replace(/\r?\n/g, '\r\n') : after.replace(/\r\n/g, '\n');
  if (before === wanted) return null;
  const most = Math.min(before.length, wanted.length);
  let start = 0;
  while (start < most && before[start] === wanted[start]) start++;
  while (start > 0 && divides(before, start)) start--;
  let same = 0;
  while (same < most - start && before[before.length - 1 - same] === wanted[wanted.length - 1 - same]) same++;
  while (same > 0 && (divides(before, before.length - same) || divides(wanted, wanted.length - same))) same--;
  return { start, end: before.length - same, text: wanted.slice(start, wanted.length - same) };
}

/** Reports whether an offset is between the two units of one character, or within a CRLF. */
function divides(text: string, at: number): boolean {
  const pair = text.slice(at - 1, at + 1);
  return pair === '\r\n' || /^[\ud800-\udbff][\udc00-\udfff]$/.test(pair);
}
