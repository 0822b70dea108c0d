import type { Breakdown, Budget } from "@strata/client";

/** A part of the window: a category of what the next request holds, what is kept for the answer, or what is free. */
export interface Part {
  name: string;
  title: string;
  /** As the server says: counted ones of a category, as the provider counts of the others. */
  tokens: number;
  /** Of the window, as the provider counts; what the bar shows. */
  share: number;
}

const titles: Record<string, string> = {
  system: "System", tools: "Tools", documents: "Documents", outlines: "Outlines", files: "Files", notes: "Notes",
  history: "History", overhead: "Framing", reserve: "Kept for the answer", free: "Free",
};

/** The categories in the order in which a request holds them. */
const order = ["system", "tools", "documents", "outlines", "files", "notes", "history", "overhead"];

const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);

export const titleOf = (name: string): string => titles[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

/** What a counted token is for the provider. */
export const ratio = (budget: Budget, breakdown: Breakdown): number => (breakdown.used > 0 ? budget.used / breakdown.used : 1);

/** What the input may have: the window less what is kept for the answer. */
export const room = (budget: Budget): number => Math.max(budget.maxInputTokens - budget.reservedOutput, 0);

/** The parts of the window: the categories, what is free, and what is kept for the answer. */
export function partsOf(budget: Budget, breakdown: Breakdown): Part[] {
  const scale = ratio(budget, breakdown);
  const categories = [...breakdown.categories].sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
  const part = (name: string, tokens: number, share: number): Part => ({ name, title: titleOf(name), tokens, share });
  return [
    ...categories.map((c) => part(c.name, c.tokens, c.tokens * scale)),
    part("free", budget.remaining, budget.remaining),
    part("reserve", budget.reservedOutput, budget.reservedOutput),
  ];
}

/** How far the bar goes: the window, or all that is in it where that is more. */
export function barLength(budget: Budget, parts: readonly Part[]): number {
  return Math.max(budget.maxInputTokens, parts.reduce((sum, p) => sum + p.share, 0), 1);
}

export interface Warning {
  text: string;
  bad: boolean;
}

/** The shares of the room from which on it is said to be filling up, and nearly full, in percent. */
const NEAR = 75;
const FULL = 90;

/** Says how full the window is, where that matters. */
export function warningOf(budget: Budget): Warning | null {
  const limit = room(budget);
  if (limit <= 0) return null;
  if (budget.used > limit) return { text: `Over the limit by ${Math.ceil((100 * (budget.used - limit)) / limit)} %`, bad: true };
  const share = (100 * budget.used) / limit;
  if (share >= FULL) return { text: "Nearly full", bad: true };
  return share >= NEAR ? { text: "Filling up", bad: false } : null;
}
