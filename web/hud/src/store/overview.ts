import { call, isOpen } from "./connection.ts";
import { Fetched } from "./fetched.ts";
import { setting } from "./remembered.ts";

/** The periods that can be chosen, in days. */
export const periods = [{ days: 1, title: "Today" }, { days: 7, title: "7 days" }, { days: 30, title: "30 days" }] as const;

/** The chosen period, in days. */
const chosen = setting<number>("overview-days", 7);

/** days returns the chosen period, whatever the browser remembers. */
export const days = (): number => periods.find((p) => p.days === chosen.value)?.days ?? 7;

const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const overview = new Fetched(() => call("_strata/usage/overview", { days: days(), timeZone: zone() }), () => isOpen.peek());

export function choose(period: number): void {
  chosen.value = period;
  overview.changed();
}

/** Minimum time between two automatic fetches, in milliseconds. */
const PACE_MS = 3000;

let next: ReturnType<typeof setTimeout> | undefined;

/** changedSoon fetches the overview again after a pause: many events in it cause one fetch. */
export function changedSoon(): void {
  next ??= setTimeout(() => {
    next = undefined;
    overview.changed();
  }, PACE_MS);
}
