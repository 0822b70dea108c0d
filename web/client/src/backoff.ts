import type { Backoff } from './api.js';

/** Milliseconds; see {@link Backoff}. */
export const FIRST_DELAY = 250;
export const MOST_DELAY = 10_000;

/**
 * Returns the delay after failed attempt number `attempt`, from 1, in milliseconds. It doubles each time. Up to a third
 * is subtracted at random, so that clients of the same server do not reconnect simultaneously.
 */
export function delay(attempt: number, backoff: Backoff = {}, random: () => number = Math.random): number {
  const first = backoff.first ?? FIRST_DELAY;
  const most = backoff.most ?? MOST_DELAY;
  const longest = Math.min(most, first * 1.5 * 2 ** Math.min(attempt - 1, 30));
  return Math.round(longest * (1 - random() / 3));
}
