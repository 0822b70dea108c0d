import type { Backoff } from './api.js';

/** Milliseconds; see {@link Backoff}. */
export const FIRST_DELAY = 250;
export const MOST_DELAY = 10_000;

/**
 * How long to wait behind the failed try number `attempt`, from 1, in milliseconds. It doubles each time, and a third of
 * it is chance, so that clients that lost the same server do not come back all at once.
 */
export function delay(attempt: number, backoff: Backoff = {}, random: () => number = Math.random): number {
  const first = backoff.first ?? FIRST_DELAY;
  const most = backoff.most ?? MOST_DELAY;
  const longest = Math.min(most, first * 1.5 * 2 ** Math.min(attempt - 1, 30));
  return Math.round(longest * (1 - random() / 3));
}
