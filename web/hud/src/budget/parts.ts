import type { Breakdown, Budget } from "@strata/client";

/** A part of the window: a category of the next request, the reserve for the reply, or the free tokens. */
export interface Part {
  name: string;
  title: string;
  /** Tokens as the provider counts, the length in the bar. Those of the categories add up to the use of the window. */
  tokens: number;
}

const titles: Record<string, string> = {
  system: "System", tools: "Tools", documents: "Documents", outlines: "Outlines", files: "Files", notes: "Notes",
  history: "History", overhead: "Framing", reserve: "Reserved for the reply", free: "Free",
};

/** The categories in the order of a request. */
const order = ["system", "tools", "documents", "outlines", "files", "notes", "history", "overhead"];

const orderOf = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);

export const titleOf = (name: string): string => titles[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

/** ratio returns the tokens of the provider per token counted by Strata. */
export const ratio = (budget: Budget, breakdown: Breakdown): number => (breakdown.used > 0 ? budget.used / breakdown.used : 1);

/** room returns the input limit: the window without the reserve for the reply. */
export const room = (budget: Budget): number => Math.max(budget.maxInputTokens - budget.reservedOutput, 0);

/** partsOf returns the parts of the window: the categories, the free tokens and the reserve for the reply. */
export function partsOf(budget: Budget, breakdown: Breakdown): Part[] {
  const categories = [...breakdown.categories].sort((a, b) => orderOf(a.name) - orderOf(b.name) || a.name.localeCompare(b.name));
  const part = (name: string, tokens: number): Part => ({ name, title: titleOf(name), tokens });
  const scaled = scaledTo(budget.used, categories.map((c) => c.tokens));
  return [
    ...categories.map((c, i) => part(c.name, scaled[i] ?? 0)),
    part("free", budget.remaining),
    part("reserve", budget.reservedOutput),
  ];
}

/** scaledTo returns whole numbers in the proportion of others, with a given sum: each is rounded so that the sums so far are right. */
export function scaledTo(sum: number, all: readonly number[]): number[] {
  const whole = all.reduce((a, b) => a + b, 0);
  let counted = 0;
  let given = 0;
  return all.map((n) => {
    counted += n;
    const before = given;
    given = whole > 0 ? Math.round((sum * counted) / whole) : 0;
    return given - before;
  });
}

/** barLength returns the length of the bar in tokens: the window, or its contents if they exceed the window. */
export function barLength(budget: Budget, parts: readonly Part[]): number {
  return Math.max(budget.maxInputTokens, parts.reduce((sum, p) => sum + p.tokens, 0), 1);
}

export interface Warning {
  text: string;
  bad: boolean;
}

/** Percentages of the input limit that raise a warning. */
const NEAR = 75;
const FULL = 90;

/** warningOf returns a warning if the input is near or above its limit, otherwise null. */
export function warningOf(budget: Budget): Warning | null {
  const limit = room(budget);
  if (limit <= 0) return null;
  if (budget.used > limit) return { text: `Over the limit by ${Math.ceil((100 * (budget.used - limit)) / limit)} %`, bad: true };
  const share = (100 * budget.used) / limit;
  if (share >= FULL) return { text: "Nearly full", bad: true };
  return share >= NEAR ? { text: "Filling up", bad: false } : null;
}
