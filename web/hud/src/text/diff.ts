/** Hunk is a group of changed lines before and after the change, with the lines around them. */
export interface Hunk {
  old: string;
  new: string;
  /** The numbers of the first lines, from 1; missing if they are not known. */
  oldStart?: number | undefined;
  newStart?: number | undefined;
}

/** DiffLine is a line of a hunk: removed, added or unchanged. */
export interface DiffLine {
  sign: "-" | "+" | " ";
  text: string;
  /** The last line has no line feed, but that of the other text has one. */
  open?: boolean;
}

/** The maximum number of pairs of lines that are compared. Beyond it, all old lines count as removed and all new ones as added. */
const MAX_PAIRS = 1_000_000;

/** linesOf returns the lines of a hunk: as few removed and added ones as possible, the removed ones first. */
export function linesOf(hunk: Hunk): DiffLine[] {
  const differ = hunk.old !== "" && hunk.new !== "" && hunk.old.endsWith("\n") !== hunk.new.endsWith("\n");
  const old = split(hunk.old, differ);
  const now = split(hunk.new, differ);
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  return [
    ...old.slice(0, start).map(line(" ")),
    ...changed(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(line(" ")),
  ];
}

/** Marks the last line of a text without a line feed. It is not in a line of a text. */
const OPEN = "\n";

function split(text: string, marked: boolean): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  else if (marked) lines.push(lines.pop() + OPEN);
  return lines;
}

const line = (sign: DiffLine["sign"]) => (text: string): DiffLine =>
  text.endsWith(OPEN) ? { sign, text: text.slice(0, -1), open: true } : { sign, text };

/** changed compares lines that differ at both ends, by their longest common subsequence. */
function changed(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > MAX_PAIRS) return [...old.map(line("-")), ...now.map(line("+"))];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width); // of the lines from i and from j on
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const [before = "", after = ""] = [old[i], now[j]];
    if (i < old.length && j < now.length && before === after) {
      lines.push(line(" ")(before));
      i++;
      j++;
    } else if (i < old.length && (j === now.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(line("-")(before));
      i++;
    } else {
      lines.push(line("+")(after));
      j++;
    }
  }
  return lines;
}
