import type { LeftOut } from "@strata/client";

export interface OmittedGroup {
  reason: string;
  entries: LeftOut[];
  /** Number of items; each message of a run counts. */
  items: number;
  tokens: number;
}

/** byReason groups omitted items by reason, the largest group first. */
export function byReason(leftOut: readonly LeftOut[]): OmittedGroup[] {
  const groups = new Map<string, OmittedGroup>();
  for (const l of leftOut) {
    const group = groups.get(l.reason) ?? { reason: l.reason, entries: [], items: 0, tokens: 0 };
    group.entries.push(l);
    group.items += l.count ?? 1;
    group.tokens += l.tokens ?? 0;
    groups.set(l.reason, group);
  }
  return [...groups.values()].sort((a, b) => b.tokens - a.tokens || b.items - a.items);
}
