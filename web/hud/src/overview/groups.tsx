import type { Spent } from "@strata/client";
import type { ComponentChildren } from "preact";
import { hitRate } from "../cost/calls.ts";
import { dollars, percent, plural } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";
import { Share } from "./bars.tsx";
import type { Measure } from "./words.ts";

interface GroupsProps<T> {
  id: string;
  title: string;
  /** The heading of the first column. */
  name: string;
  rows: readonly T[];
  measure: Measure;
  keyOf: (row: T) => string;
  children: (row: T) => ComponentChildren;
}

/** tokensOf returns all tokens of calls. */
export const tokensOf = ({ usage: u }: Spent): number => u.input + u.cacheRead + u.cacheWrite + u.output;

/** A table of sums. `children` draws the name of a row. */
export function Groups<T extends Spent>({ id, title, name, rows, measure, keyOf, children }: GroupsProps<T>) {
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(measure.of));
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <table class="numbers groups" aria-labelledby={id}>
        <thead>
          <tr>
            <th scope="col">{name}</th><th scope="col"><span class="hidden">Share</span></th><th scope="col" class="number">Cost</th>
            <th scope="col" class="number">Saved</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Hit rate</th><th scope="col" class="number">Calls</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} data-group={keyOf(row)} data-cost={row.cost} data-calls={row.calls}>
              <th scope="row">{children(row)}</th>
              <td><Share part={measure.of(row)} most={most} /></td>
              <td class="number" title={`$${row.cost}`}>{dollars(row.cost)}</td>
              <td class="number">{row.uncachedCost > 0 ? saved(row) : "–"}</td>
              <td class="number"><Tokens n={tokensOf(row)} /></td>
              <td class="number">{percent(hitRate(row.usage), 1)}</td>
              <td class="number" title={plural(row.calls, "call")}>{row.calls}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** saved returns what the cache saved: "32 %", or "−4 %" where it costs more. */
function saved({ cost, uncachedCost }: Spent): string {
  const share = Math.round((100 * (uncachedCost - cost)) / uncachedCost);
  return share < 0 ? `−${-share} %` : `${share} %`;
}
