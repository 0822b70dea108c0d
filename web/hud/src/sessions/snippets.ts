import type { SearchHit } from "@strata/client";
import { markup } from "../text/plain.ts";

/** A part of a snippet, and whether it matched. */
export interface SnippetPart {
  text: string;
  hit: boolean;
}

/** markedParts divides a text at its marks, which count bytes of UTF-8. */
export function markedParts(text: string, marks: readonly (readonly [number, number])[]): SnippetPart[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const parts: SnippetPart[] = [];
  let from = 0;
  const take = (to: number, isHit: boolean): void => {
    if (to > from) parts.push({ text: decoder.decode(bytes.subarray(from, to)), hit: isHit });
    from = Math.max(from, to);
  };
  for (const [start, end] of marks) {
    take(start, false);
    take(end, true);
  }
  take(bytes.length, false);
  return parts;
}

/** snippetParts divides a snippet at its marks, and removes the Markdown syntax of messages. */
export function snippetParts(hit: SearchHit): SnippetPart[] {
  const parts = markedParts(hit.snippet, hit.marks);
  return shortenLead(hit.role === "tool" ? parts : withoutMarkup(parts));
}

/** withoutMarkup removes Markdown syntax from the parts of a text. Syntax that matched stays. */
function withoutMarkup(parts: readonly SnippetPart[]): SnippetPart[] {
  const removed = markup(parts.map((p) => p.text).join(""));
  let at = 0;
  return parts.map((part) => {
    const [start, end] = [at, (at += part.text.length)];
    if (part.hit) return part;
    let text = "";
    let from = start;
    for (const [first, last] of removed) {
      if (last <= start || first >= end) continue;
      text += part.text.slice(from - start, Math.max(first, start) - start);
      from = Math.min(last, end);
    }
    return { text: text + part.text.slice(from - start), hit: false };
  }).filter((part) => part.text !== "");
}

/** Maximum characters before the first match. With more, the match could be outside the visible lines. */
const LEAD = 48;

function shortenLead(parts: SnippetPart[]): SnippetPart[] {
  const [first, ...rest] = parts;
  if (!first || first.hit || rest.length === 0 || first.text.length <= LEAD) return parts;
  return [{ text: "…" + first.text.slice(-LEAD).replace(/^\S*\s+/, ""), hit: false }, ...rest];
}
