import type { Call, UsageTotals } from "@strata/client";

/** joined appends the newest page of calls to the loaded calls, both oldest first. A page without overlap replaces them. */
export function joined(loaded: readonly Call[], page: readonly Call[]): { calls: readonly Call[]; gap: boolean } {
  const first = page[0];
  if (!first) return { calls: page, gap: true };
  const at = loaded.findIndex((c) => c.callId === first.callId);
  if (at >= 0) return { calls: [...loaded.slice(0, at), ...page], gap: false };
  return { calls: page, gap: true };
}

/** inputOf returns all input tokens of a call. */
export const inputOf = (c: { input: number; cacheRead: number; cacheWrite: number }): number => c.input + c.cacheRead + c.cacheWrite;

/** hitRate returns the share of the input that was read from the cache, 0 to 1. */
export function hitRate(c: { input: number; cacheRead: number; cacheWrite: number }): number {
  const all = inputOf(c);
  return all > 0 ? c.cacheRead / all : 0;
}

/** The kinds of tokens of a call, in the plot from the bottom up. */
export const kinds = [
  { id: "read", title: "Cache reads", of: (c: Call) => c.cacheRead },
  { id: "written", title: "Cache writes", of: (c: Call) => c.cacheWrite },
  { id: "uncached", title: "Uncached input", of: (c: Call) => c.input },
  { id: "output", title: "Output", of: (c: Call) => c.output },
] as const;

/** stacked returns the data of the plot: call numbers, the stacked height of each kind, and expected cache reads. */
export function stacked(calls: readonly Call[], firstNumber: number): { x: number[]; tops: number[][]; expected: (number | null)[] } {
  const tops: number[][] = [];
  let below = calls.map(() => 0);
  for (const kind of kinds) {
    below = calls.map((c, i) => (below[i] ?? 0) + kind.of(c));
    tops.push(below);
  }
  return { x: calls.map((_, i) => firstNumber + i), tops, expected: calls.map((c) => c.expectedCacheRead || null) };
}

/** ticksOf returns the numbers of calls at the axis: whole ones from the first to the last, at most `most`, at round distances. */
export function ticksOf(first: number, last: number, most: number): number[] {
  let step = 1;
  for (let i = 0; (last - first) / step + 1 > Math.max(most, 1); i++) step *= i % 3 === 1 ? 2.5 : 2; // 1, 2, 5, 10
  const ticks: number[] = [];
  for (let n = Math.ceil(first / step) * step; n <= last; n += step) ticks.push(n);
  return ticks;
}

export interface Saving {
  text: string;
  more: boolean;
}

/** savingOf returns what the cache saved, in words; null if the price is unknown. */
export function savingOf(totals: UsageTotals): Saving | null {
  if (totals.uncachedCost <= 0) return null;
  const share = Math.round((100 * (totals.uncachedCost - totals.cost)) / totals.uncachedCost);
  if (share < 0) return { text: `${-share} % more than without a cache`, more: true };
  return { text: share === 0 ? "the same as without a cache" : `${share} % less than without a cache`, more: false };
}

/** pageOf returns the calls of a page of the table, newest first. Page 0 is the newest. */
export function pageOf(calls: readonly Call[], page: number, size: number): Call[] {
  const end = calls.length - page * size;
  return calls.slice(Math.max(end - size, 0), Math.max(end, 0)).reverse();
}
