/** A range of characters: the start, and the end after it. */
export type Range = readonly [start: number, end: number];

/** The syntax of Markdown that is removed. A group named `kept` stays. */
const syntax: readonly RegExp[] = [
  /^ {0,3}(?:`{3,}|~{3,})[^\n`]*(?:\n|$)/gm, // fences
  /`{3,}[\w+#-]*\s?/g,
  /^ {0,3}\|?(?: *:?-{3,}:? *\|)+[ :|-]*(?:\n|$)/gm, // the line below the head of a table
  /^ {0,3}(?:#{1,6}|>|[-*+]|\|)[ \t]+/gm,
  /(?<=\s)#{2,6} +/g, // of a heading whose line feed became a space
  /!?\[(?<kept>[^\][\n]*)\]\([^()\s]*(?:\s"[^"\n]*")?\)/dg,
  /(?<![\w*~])(?<mark>\*{1,3}|~~)(?<kept>[^\s*~](?:[^*~\n]*[^\s*~])?)\k<mark>(?![\w*~])/dg,
  /(?<!\S)\*\*(?=\p{Lu})|(?<=[\p{L}\d.!?:)])\*\*(?=[\s.,;:!?)]|$)/gu, // half of a pair: a snippet starts or ends inside of it
  /`+/g,
  /[ \t]\|[ \t]*$/gm,
];

/** markup returns the ranges of Markdown syntax in a text, in order, without overlaps. */
export function markup(text: string): Range[] {
  const found: Range[] = [];
  for (const pattern of syntax) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = [match.index, match.index + match[0].length];
      const kept = match.indices?.groups?.["kept"];
      if (kept) found.push([start, kept[0]], [kept[1], end]);
      else found.push([start, end]);
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
