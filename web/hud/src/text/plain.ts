/** A range of characters: the start, and the end after it. */
export type Range = readonly [start: number, end: number];

/** The syntax of Markdown that is removed. A group named `kept` stays. */
const syntax: readonly RegExp[] = [
  /^ {0,3}(?:`{3,}|~{3,})[^\n`]*(?:\n|$)/gm, // fences
  /`{3,}[\w+#-]*\s?/g,
  /^ {0,3}\|?(?: *:?-{3,}:? *\|)+[ :|-]*(?:\n|$)/gm, // the line below the head of a table
  /^ {0,3}(?:#{1,6}|>|[-*+]|\|)[ \t]+/gm,
  /(?<=\s)#{2,6} +/g, // of a heading whose line feed became a space
  /!?\[(?<kept>[^\][\n]*)\]\([^()\s]*(?:\s"[^"\n]*")?\)/g,
  /(?<![\w*])(?:\*{1,3}|~~)(?=[^\s*~])|(?<=[^\s*~])(?:\*{1,3}|~~)(?![\w*])/g,
  /`+/g,
  /[ \t]\|[ \t]*$/gm,
];

/** markup returns the ranges of Markdown syntax in a text, in order, without overlaps. */
export function markup(text: string): Range[] {
  const found: Range[] = [];
  for (const pattern of syntax) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = [match.index, match.index + match[0].length];
      const kept = match.groups?.["kept"];
      if (kept === undefined) found.push([start, end]);
      else {
        const from = text.indexOf("[", start) + 1;
        found.push([start, from], [from + kept.length, end]);
      }
    }
  }
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const ranges: Range[] = [];
  for (const range of found) if (range[0] >= (ranges.at(-1)?.[1] ?? 0)) ranges.push(range);
  return ranges;
}

/** plain returns a text without the syntax of Markdown. */
export function plain(text: string): string {
  let out = "";
  let from = 0;
  for (const [start, end] of markup(text)) {
    out += text.slice(from, start);
    from = end;
  }
  return out + text.slice(from);
}
