import type { LeftOut } from "@strata/client";

export interface LeftGroup {
  reason: string;
  entries: LeftOut[];
  /** Items, where a run of messages counts each. */
  items: number;
  tokens: number;
}

/** Puts what was left out together by its reason, the largest group first. */
export function byReason(leftOut: readonly LeftOut[]): LeftGroup[] {
  const groups = new Map<string, LeftGroup>();
  for (const l of leftOut) {
    const group = groups.get(l.reason) ?? { reason: l.reason, entries: [], items: 0, tokens: 0 };
    group.entries.push(l);
    group.items += l.count ?? 1;
    group.tokens += l.tokens ?? 0;
    groups.set(l.reason, group);
  }
  return [...groups.values()].sort((a, b) => b.tokens - a.tokens || b.items - a.items);
}
