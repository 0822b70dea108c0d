/** fold returns a text for comparisons as the server makes them: without case, accents, and the length of white space. */
export const fold = (text: string): string => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase().replace(/\s+/gu, " ");

/** occurrences returns how often a folded phrase is in a text. */
export const occurrences = (text: string, phrase: string): number => fold(text).split(phrase).length - 1;

/** Maximum characters of a row in which matches are marked. */
const MAX_MARKED = 200_000;

const blocks = "p, li, pre, td, th, h1, h2, h3, h4, h5, h6, blockquote, dd, dt, div, section, button, .diff-text";
const silent = "header, .hidden, .icon-button, .copy, .code-head, .result-label, .diff-number, .diff-sign";

/** rangesIn returns the ranges of a folded phrase in an element, in order. A match does not reach beyond a paragraph. */
export function rangesIn(root: Element, phrase: string): Range[] {
  const found: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let chars = 0;
  let block: Element | null | undefined;
  let nodes: Text[] = [];
  const flush = (): void => {
    if (nodes.length > 0) found.push(...rangesOf(nodes, phrase));
    nodes = [];
  };
  while (walker.nextNode() && chars < MAX_MARKED) {
    const node = walker.currentNode as Text;
    const parent = node.parentElement;
    if (!parent || parent.closest(silent)) continue;
    const own = parent.closest(blocks);
    if (own !== block) flush();
    block = own;
    chars += node.data.length;
    nodes.push(node);
  }
  flush();
  return found;
}

/** rangesOf finds a phrase in adjacent text nodes. */
function rangesOf(nodes: readonly Text[], phrase: string): Range[] {
  const text = nodes.map((n) => n.data).join("");
  if (!fold(text).includes(phrase)) return [];
  const { folded, starts } = folding(text);
  const ranges: Range[] = [];
  for (let at = folded.indexOf(phrase); at >= 0; at = folded.indexOf(phrase, at + phrase.length)) {
    const from = starts[at] ?? 0;
    const to = starts[at + phrase.length] ?? text.length;
    ranges.push(rangeOf(nodes, from, to));
  }
  return ranges;
}

/** folding returns the folded text, and for each of its characters the place of the original. */
function folding(text: string): { folded: string; starts: number[] } {
  let folded = "";
  const starts: number[] = [];
  let at = 0;
  for (const char of text) {
    const plain = fold(char);
    const same = plain === " " && folded.endsWith(" ");
    if (!same) {
      for (let i = 0; i < plain.length; i++) starts.push(at);
      folded += plain;
    }
    at += char.length;
  }
  return { folded, starts };
}

/** rangeOf returns the range of characters of adjacent text nodes. */
function rangeOf(nodes: readonly Text[], from: number, to: number): Range {
  const range = document.createRange();
  let before = 0;
  for (const node of nodes) {
    const end = before + node.data.length;
    if (from >= before && from < end) range.setStart(node, from - before);
    if (to > before && to <= end) {
      range.setEnd(node, to - before);
      break;
    }
    before = end;
  }
  return range;
}
