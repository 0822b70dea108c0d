import { signal } from "@preact/signals";
import type { SearchHit } from "@strata/client";
import { markup } from "../text/plain.ts";
import { call } from "./connection.ts";

/** The search in all messages: the query and its hits. */
export const query = signal("");
export const hits = signal<readonly SearchHit[]>([]);
export const more = signal<string | undefined>(undefined);
export const searching = signal(false);
export const problem = signal("");
/** Number of the newest messages that are not searched yet. */
export const behind = signal(0);

/** Delay between the last keystroke and the search, in milliseconds. */
const DEBOUNCE_MS = 180;

/** Delay until a search is repeated that did not include all messages, in milliseconds. */
const REPEAT_MS = 1000;

let running = new AbortController();
let timer = 0;

export function search(text: string): void {
  query.value = text;
  clearTimeout(timer);
  running.abort();
  if (text.trim() === "") {
    hits.value = [];
    more.value = undefined;
    problem.value = "";
    behind.value = 0;
    searching.value = false;
    return;
  }
  searching.value = true;
  timer = setTimeout(() => void ask(text, undefined), DEBOUNCE_MS) as unknown as number;
}

/** searchMore loads the next page of hits. */
export function searchMore(): void {
  if (more.value === undefined || searching.value) return;
  clearTimeout(timer);
  void ask(query.value, more.value);
}

async function ask(text: string, cursor: string | undefined): Promise<void> {
  const request = (running = new AbortController());
  searching.value = true;
  try {
    const page = await call("_strata/history/search", { query: text, ...(cursor ? { cursor } : {}) }, { signal: request.signal });
    if (request.signal.aborted) return;
    hits.value = cursor ? [...hits.value, ...page.hits] : page.hits;
    more.value = page.nextCursor;
    problem.value = "";
    behind.value = page.behind ?? 0;
    if (behind.value > 0 && !cursor) timer = setTimeout(() => void ask(text, undefined), REPEAT_MS) as unknown as number;
  } catch (error) {
    if (request.signal.aborted) return;
    hits.value = [];
    problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (request === running) searching.value = false;
  }
}

/** A part of a snippet, and whether it matched. */
export interface SnippetPart {
  text: string;
  hit: boolean;
}

/** snippetParts divides a snippet at its marks, which count bytes of UTF-8, and removes the Markdown syntax of messages. */
export function snippetParts(hit: SearchHit): SnippetPart[] {
  const bytes = new TextEncoder().encode(hit.snippet);
  const decoder = new TextDecoder();
  const parts: SnippetPart[] = [];
  let from = 0;
  const take = (to: number, isHit: boolean): void => {
    if (to > from) parts.push({ text: decoder.decode(bytes.subarray(from, to)), hit: isHit });
    from = Math.max(from, to);
  };
  for (const [start, end] of hit.marks) {
    take(start, false);
    take(end, true);
  }
  take(bytes.length, false);
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
