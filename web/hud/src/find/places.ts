import type { FoundPlace } from "@strata/client";
import { callName, expandKey, thinkingName, type Row } from "../conversation/rows.ts";
import { resultKey, type Results } from "../store/tool-calls.ts";
import type { Entry } from "../store/transcript.ts";
import { plain } from "../text/plain.ts";
import { occurrences } from "./text.ts";

/** Match is one occurrence of the phrase: the place, and its number there. */
export interface Match {
  place: FoundPlace;
  nth: number;
}

/** matchAt returns the match with an index among all, undefined beyond them. */
export function matchAt(places: readonly FoundPlace[], index: number): Match | undefined {
  let before = 0;
  for (const place of places) {
    if (index < before + place.count) return { place, nth: index - before };
    before += place.count;
  }
  return undefined;
}

/** indexFrom returns the index of the first match in a message or after it; 0 if there is none. */
export function indexFrom(places: readonly FoundPlace[], seq: number): number {
  let index = 0;
  for (const place of places) {
    if (place.seq >= seq) return index;
    index += place.count;
  }
  return 0;
}

export const countOf = (places: readonly FoundPlace[]): number => places.reduce((sum, p) => sum + p.count, 0);

/** partsOf returns the keys of what hides a place within its message. */
export function partsOf(entry: Entry, { block, part }: FoundPlace): string[] {
  const keys = [expandKey(entry, `patch${block}.${part}`)];
  const it = entry.message.blocks[block];
  if (it?.type === "tool_call") keys.push(expandKey(entry, callName(it.callId)));
  if (it?.type === "thinking") keys.push(expandKey(entry, thinkingName(thoughtsBefore(entry, block))));
  return keys;
}

const thoughtsBefore = (entry: Entry, block: number): number => entry.message.blocks.slice(0, block).filter((b) => b.type === "thinking").length;

/** Located is a row, and the number of the match among those in it. Numbers below 0 count from the end. */
export interface Located {
  key: string;
  nth: number;
}

/** locate returns the row that shows a match, null if it is not among the rows. */
export function locate(rows: readonly Row[], results: Results, entry: Entry, { place, nth }: Match, phrase: string): Located | null {
  const own = rows.filter((row) => row.kind !== "summary" && row.entry === entry);
  switch (place.type) {
    case "text":
      return amongTexts(own.flatMap((row) => (row.kind === "segment" && row.block === place.block ? [{ key: row.key, text: plain(row.segment.text) }] : [])), nth, phrase);
    case "thinking": {
      const prefix = `${entry.key}/t${thoughtsBefore(entry, place.block)}.`;
      return amongTexts(own.flatMap((row) => (row.kind === "thought" && row.key.startsWith(prefix) ? [{ key: row.key, text: row.segment.text }] : [])), nth, phrase);
    }
    case "tool_call": {
      const block = entry.message.blocks[place.block];
      const row = own.find((r) => r.kind === "call" && block?.type === "tool_call" && r.callId === block.callId);
      return row ? { key: row.key, nth } : null;
    }
    case "tool_result": {
      const joined = rows.find((row) => row.kind === "call" && isResult(results, row, entry, place.block));
      if (joined) return { key: joined.key, nth: nth - place.count };
      return keyed(own, `${entry.key}/result${place.block}.${place.part}`, nth);
    }
    default:
      return keyed(own, `${entry.key}/resource${place.block}`, nth) ?? keyed(own, `${entry.key}/files`, nth);
  }
}

function isResult(results: Results, row: Extract<Row, { kind: "call" }>, entry: Entry, block: number): boolean {
  const stored = results.of.get(resultKey(row.entry, row.callId));
  return stored?.entry === entry && stored.index === block;
}

const keyed = (rows: readonly Row[], key: string, nth: number): Located | null => (rows.some((row) => row.key === key) ? { key, nth } : null);

/** amongTexts returns the text that has a match. The server may count some that are not shown, as in the address of a link. */
function amongTexts(texts: readonly { key: string; text: string }[], nth: number, phrase: string): Located | null {
  let last: Located | null = texts[0] ? { key: texts[0].key, nth: 0 } : null;
  let left = nth;
  for (const { key, text } of texts) {
    const n = occurrences(text, phrase);
    if (left < n) return { key, nth: left };
    if (n > 0) last = { key, nth: n - 1 };
    left -= n;
  }
  return last;
}
