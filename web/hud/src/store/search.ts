import { signal } from "@preact/signals";
import type { SearchHit } from "@strata/client";
import { call } from "./connection.ts";

/** The search over all messages: what was asked, and what was found. */
export const query = signal("");
export const hits = signal<readonly SearchHit[]>([]);
export const more = signal<string | undefined>(undefined);
export const searching = signal(false);
export const problem = signal("");

/** How long typing rests before a search is sent, in milliseconds. */
const REST_MS = 180;

let asked = new AbortController();
let timer = 0;

export function search(text: string): void {
  query.value = text;
  clearTimeout(timer);
  asked.abort();
  if (text.trim() === "") {
    hits.value = [];
    more.value = undefined;
    problem.value = "";
    searching.value = false;
    return;
  }
  searching.value = true;
  timer = setTimeout(() => void ask(text, undefined), REST_MS) as unknown as number;
}

/** Asks for the hits behind those that are shown. */
export function searchMore(): void {
  if (more.value !== undefined && !searching.value) void ask(query.value, more.value);
}

async function ask(text: string, cursor: string | undefined): Promise<void> {
  const mine = (asked = new AbortController());
  searching.value = true;
  try {
    const page = await call("_strata/history/search", { query: text, ...(cursor ? { cursor } : {}) }, { signal: mine.signal });
    if (mine.signal.aborted) return;
    hits.value = cursor ? [...hits.value, ...page.hits] : page.hits;
    more.value = page.nextCursor;
    problem.value = "";
  } catch (error) {
    if (mine.signal.aborted) return;
    hits.value = [];
    problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (mine === asked) searching.value = false;
  }
}

/** A stretch of a snippet, and whether it matched. */
export interface Stretch {
  text: string;
  hit: boolean;
}

/** Takes a snippet apart at its marks, which count bytes of UTF-8. */
export function stretches(hit: SearchHit): Stretch[] {
  const bytes = new TextEncoder().encode(hit.snippet);
  const decoder = new TextDecoder();
  const parts: Stretch[] = [];
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
  return inSight(parts);
}

/** Characters in front of the first hit that are shown: with more of them the hit would be below what there is room for. */
const LEAD = 48;

function inSight(parts: Stretch[]): Stretch[] {
  const [first, ...rest] = parts;
  if (!first || first.hit || rest.length === 0 || first.text.length <= LEAD) return parts;
  return [{ text: "…" + first.text.slice(-LEAD).replace(/^\S*\s+/, ""), hit: false }, ...rest];
}
