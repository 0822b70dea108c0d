import type { Call, UsageTotals } from "@strata/client";

/** Joins the newest page of calls to those that are held; both oldest first. A page that does not reach them replaces them. */
export function joined(held: readonly Call[], page: readonly Call[]): { calls: readonly Call[]; gap: boolean } {
  const first = page[0];
  if (!first) return { calls: page, gap: true };
  const at = held.findIndex((c) => c.callId === first.callId);
  if (at >= 0) return { calls: [...held.slice(0, at), ...page], gap: false };
  return { calls: page, gap: true };
}

/** All tokens that a call put in. */
export const inputOf = (c: { input: number; cacheRead: number; cacheWrite: number }): number => c.input + c.cacheRead + c.cacheWrite;

/** The share of the input that was read from a cache, 0 to 1. */
export function hitRate(c: { input: number; cacheRead: number; cacheWrite: number }): number {
  const all = inputOf(c);
  return all > 0 ? c.cacheRead / all : 0;
}

/** What a call's tokens are, from below in the plot. */
export const kinds = [
  { id: "read", title: "Read from the cache", of: (c: Call) => c.cacheRead },
  { id: "written", title: "Written to the cache", of: (c: Call) => c.cacheWrite },
  { id: "uncached", title: "Uncached input", of: (c: Call) => c.input },
  { id: "output", title: "Output", of: (c: Call) => c.output },
] as const;

/** The columns of the plot: the number of each call, the height of each kind with all below it, and the expected reads. */
export function stacked(calls: readonly Call[], firstNumber: number): { x: number[]; tops: number[][]; expected: (number | null)[] } {
  const tops: number[][] = [];
  let below = calls.map(() => 0);
  for (const kind of kinds) {
    below = calls.map((c, i) => (below[i] ?? 0) + kind.of(c));
    tops.push(below);
  }
  return { x: calls.map((_, i) => firstNumber + i), tops, expected: calls.map((c) => c.expectedCacheRead || null) };
}

export interface Saving {
  text: string;
  more: boolean;
}

/** What the cache saved, in words; null where no price is known. */
export function savingOf(totals: UsageTotals): Saving | null {
  if (totals.uncachedCost <= 0) return null;
  const share = Math.round((100 * (totals.uncachedCost - totals.cost)) / totals.uncachedCost);
  if (share < 0) return { text: `${-share} % more than without a cache`, more: true };
  return { text: share === 0 ? "the same as without a cache" : `${share} % less than without a cache`, more: false };
}

/** The calls of a page of the table, newest first; page 0 is the newest. */
export function pageOf(calls: readonly Call[], page: number, size: number): Call[] {
  const end = calls.length - page * size;
  return calls.slice(Math.max(end - size, 0), Math.max(end, 0)).reverse();
}
