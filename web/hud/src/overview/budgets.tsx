import type { BudgetState } from "@strata/client";
import { plural } from "../text/format.ts";
import { spentOf } from "./words.ts";

/** The budgets of the configuration with what is spent of them. */
export function Budgets({ budgets }: { budgets: readonly BudgetState[] }) {
  if (budgets.length === 0) return null;
  return (
    <section class="card" aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      <ul class="budgets">{budgets.map((b) => <Budget key={b.name} budget={b} />)}</ul>
    </section>
  );
}

const states: Record<BudgetState["state"], string> = { ok: "", near: "Nearly used", over: "Exceeded" };

function Budget({ budget: b }: { budget: BudgetState }) {
  return (
    <li data-budget={b.name} data-spent={b.spent} data-state={b.state}>
      <span class="budget-name">{b.name}</span>
      <progress class={`progress budget-${b.state}`} aria-label={b.name} max={1} value={Math.min(b.spent / b.limit, 1)} />
      <span>{spentOf(b)}</span>
      {states[b.state] && <span class={b.state === "over" ? "mark bad" : "mark"}>{states[b.state]}</span>}
      {b.folder && <span class="quiet" title={b.folder}>{b.folder}</span>}
      {b.unpriced > 0 && <span class="quiet">{plural(b.unpriced, "call")} of unknown price</span>}
    </li>
  );
}
