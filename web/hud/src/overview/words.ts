import type { Activity, BudgetState, Spent } from "@strata/client";
import { dollars, percent, plural } from "../text/format.ts";

const doing: Record<Activity["kind"], string> = {
  waiting: "Waiting for the model", thinking: "Thinking", answering: "Answering", calling: "Running", asking: "Needs permission", compacting: "Compacting",
};

/** activityOf returns what a session does, in words: "Running go test". */
export function activityOf(activity: Activity): string {
  const { kind, title } = activity;
  if (!title) return doing[kind] ?? kind;
  return kind === "asking" ? `Needs permission: ${title}` : `${doing[kind] ?? kind} ${title}`;
}

/** cautions returns what limits the meaning of a sum: calls that failed, were stopped, or have no known price. */
export function cautions(spent: Spent): string[] {
  return [
    spent.failed > 0 && `${plural(spent.failed, "call")} failed`,
    spent.stopped > 0 && `${plural(spent.stopped, "call")} stopped`,
    spent.unpriced > 0 && `${plural(spent.unpriced, "call")} of unknown price: the sum is incomplete`,
  ].filter((text) => text !== false);
}

const periods: Record<BudgetState["per"], string> = { day: "today", month: "this month" };

/** spentOf returns the state of a budget in words: "$4.20 of $5.00 today, 84 %". */
export const spentOf = (b: BudgetState): string =>
  `${dollars(b.spent)} of ${dollars(b.limit)} ${periods[b.per] ?? b.per}, ${percent(b.spent, b.limit)}`;

/** The measure of the bars: cost, or tokens if nothing costs anything. */
export interface Measure {
  of: (s: Spent) => number;
  text: (n: number) => string;
  title: string;
}
