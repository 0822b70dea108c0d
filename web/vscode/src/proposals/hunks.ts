/** A part of a text that changes, with lines around it. Its texts have LF as line ends. */
export interface Hunk {
  old: string;
  new: string;
  /** The number of the first old line, from 1, if it is known. */
  oldLine?: number;
}

/**
 * Returns a text with hunks applied, null if one does not fit. A hunk fits at its line, or else at the only other place after
 * the earlier hunks where its old lines are. The result has the line ends of the text.
 */
export function applied(text: string, hunks: readonly Hunk[]): string | null {
  const lf = text.replaceAll('\r\n', '\n');
  const parts: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const start = placeOf(lf, hunk, at);
    if (start === undefined) return null;
    parts.push(lf.slice(at, start), hunk.new);
    at = start + hunk.old.length;
  }
  const result = parts.join('') + lf.slice(at);
  return text.includes('\r\n') ? result.replaceAll('\n', '\r\n') : result;
}

/** Returns the offset of a hunk in a text, from an offset on; undefined if there is none, or more than one. */
function placeOf(text: string, hunk: Hunk, from: number): number | undefined {
  const stated = hunk.oldLine === undefined ? undefined : startOfLine(text, hunk.oldLine);
  if (stated !== undefined && stated >= from && fits(text, hunk.old, stated)) return stated;
  if (hunk.old === '') return undefined;
  let found: number | undefined;
  for (let at = text.indexOf(hunk.old, from); at >= 0; at = text.indexOf(hunk.old, at + 1)) {
    if (!fits(text, hunk.old, at)) continue;
    if (found !== undefined) return undefined;
    found = at;
  }
  return found;
}

/** Reports whether lines are in a text at an offset, as whole lines. */
function fits(text: string, lines: string, at: number): boolean {
  if (at > 0 && text[at - 1] !== '\n') return false;
  const end = at + lines.length;
  return text.startsWith(lines, at) && (lines === '' || lines.endsWith('\n') || end === text.length || text[end] === '\n');
}

/** Returns the offset of a line, from 1 on; undefined if the text has fewer lines. */
function startOfLine(text: string, line: number): number | undefined {
  let at = 0;
  for (let i = 1; i < line; i++) {
    const end = text.indexOf('\n', at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  return at;
}
