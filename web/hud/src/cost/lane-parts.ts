import type { CacheMark, Call } from "@strata/client";
import { titles } from "../history/timeline.ts";
import { count, when } from "../text/format.ts";
import { inputOf } from "./calls.ts";

/** A part of the lane: a call, or a mark between calls. */
export type LanePart = { kind: "call"; call: Call; number: number } | { kind: "mark"; mark: CacheMark };

const time = (iso: string): number => Date.parse(iso) || 0;

/** laneParts returns calls and marks by time: at most `most`, the newest. Calls keep their order. */
export function laneParts(calls: readonly Call[], firstNumber: number, marks: readonly CacheMark[], most: number): LanePart[] {
  const parts: LanePart[] = [];
  let next = 0;
  const marksUntil = (end: number): void => {
    for (let mark = marks[next]; mark && time(mark.at) <= end; mark = marks[++next]) parts.push({ kind: "mark", mark });
  };
  const from = Math.max(calls.length - most, 0);
  calls.slice(from).forEach((call, i) => {
    marksUntil(time(call.at));
    parts.push({ kind: "call", call, number: firstNumber + from + i });
  });
  marksUntil(Infinity);
  return parts.slice(-Math.max(most, 1));
}

/** missedOf returns the tokens that a call was expected to read from the cache, and did not. */
export const missedOf = (c: Call): number => Math.max(c.expectedCacheRead - c.cacheRead, 0);

/** sharesOf returns the shares of a call's input that were read, written, and missed; 0 for a call without input. */
export function sharesOf(c: Call): { read: number; written: number; missed: number } {
  const all = Math.max(inputOf(c), c.expectedCacheRead, 1);
  return { read: c.cacheRead / all, written: c.cacheWrite / all, missed: missedOf(c) / all };
}

/** markWords returns what a mark means. */
export function markWords(mark: CacheMark): string {
  if (mark.kind === "expiry") return "Cache expired";
  return (mark.edit && titles[mark.edit]) || "View edited";
}

/** partWords returns a part in words. */
export function partWords(part: LanePart): string {
  if (part.kind === "mark") return `${when(part.mark.at)}: ${markWords(part.mark)}${part.mark.strategy ? `, ${part.mark.strategy}` : ""}`;
  const { call, number } = part;
  const missed = missedOf(call);
  const words = [`${count(call.cacheRead)} read`, `${count(call.cacheWrite)} written`, missed > 0 ? `${count(missed)} of ${count(call.expectedCacheRead)} expected tokens missed` : "nothing missed"];
  if (call.status !== "complete") words.push(call.status);
  return `Call ${count(number)}, ${when(call.at)}: ${words.join(", ")}`;
}
