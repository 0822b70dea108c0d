import type { Breakdown, Tier, TierChange, TierItem } from "@strata/client";
import { positions } from "../text/fuzzy.ts";
import type { Row } from "../ui/virtual-list.tsx";

/** A row of the panel. */
export type TierRow = Row & (
  | { kind: "changes"; changes: readonly TierChange[]; open: boolean }
  | { kind: "change"; change: TierChange }
  | { kind: "tier"; tier: Tier; shown: number; open: boolean }
  | { kind: "item"; item: TierItem; tier: string; change: TierChange | undefined }
  | { kind: "outlines"; tier: string; items: readonly TierItem[]; open: boolean }
  | { kind: "none"; text: string }
);

/** What the panel shows: a filter, and expanded and collapsed parts. */
export interface Shown {
  filter: string;
  closed: ReadonlySet<string>;
  /** The tiers whose outlines are listed. */
  outlinesOpen: ReadonlySet<string>;
  changesOpen: boolean;
}

/** tierRows returns the changes of the last reply and the rows of all tiers. label returns the name for a key. */
export function tierRows(breakdown: Breakdown, look: Shown, label: (key: string) => string): TierRow[] {
  const changes = new Map(breakdown.changes.map((c) => [c.key, c]));
  const rows: TierRow[] = [];
  if (look.filter === "") rows.push(...changeRows(breakdown.changes, look.changesOpen));
  let hits = 0;
  for (const tier of breakdown.tiers) {
    const items = tier.items.filter((item) => matches(look.filter, item.key, label(item.key)));
    hits += items.length;
    if (look.filter !== "" && items.length === 0) continue;
    const open = look.filter !== "" || !look.closed.has(tier.tier);
    rows.push({ key: `tier ${tier.tier}`, kind: "tier", tier, shown: items.length, open });
    if (!open) continue;
    const outlines = items.filter(isOutline);
    const listed = look.filter !== "" || look.outlinesOpen.has(tier.tier);
    let headed = false;
    for (const item of items) {
      if (isOutline(item)) {
        if (!headed) rows.push({ key: `outlines ${tier.tier}`, kind: "outlines", tier: tier.tier, items: outlines, open: listed });
        headed = true;
        if (!listed) continue;
      }
      rows.push({ key: `item ${item.key}`, kind: "item", tier: tier.tier, change: changes.get(item.key), item });
    }
  }
  if (look.filter !== "" && hits === 0) rows.push({ key: "none", kind: "none", text: "No matching items" });
  return rows;
}

function changeRows(changes: readonly TierChange[], open: boolean): TierRow[] {
  const head: TierRow = { key: "changes", kind: "changes", changes, open };
  return open ? [head, ...changes.map((change): TierRow => ({ key: `change ${change.key}`, kind: "change", change }))] : [head];
}

/** isOutline reports whether an item is an outline or their common heading. A tier can contain hundreds. */
export const isOutline = (item: TierItem): boolean => item.kind === "outline";

const matches = (filter: string, ...texts: string[]): boolean => filter === "" || texts.some((text) => positions(filter, text) !== null);

/** cachedWords returns how much of a tier is expected to be read from the cache, in words. */
export function cachedWords(tier: Tier, write: (n: number) => string): string {
  if (tier.items.length === 0) return "empty";
  if (tier.cached <= 0) return "not cached";
  return tier.cached >= tier.tokens ? "cached" : `${write(tier.cached)} cached`;
}

/** stepOf returns a change in words: "active to L3", "new in active", "removed from L2". */
export function stepOf(change: TierChange): string {
  if (change.from === "") return `new in ${change.to}`;
  if (change.to === "") return `removed from ${change.from}`;
  return change.from === change.to ? `in ${change.to}` : `${change.from} to ${change.to}`;
}

/** sumUp summarizes changes: "2 new, 1 changed, 3 moved, 1 removed". */
export function sumUp(changes: readonly TierChange[]): string {
  const counts = { new: 0, changed: 0, moved: 0, removed: 0 };
  for (const c of changes) {
    if (c.from === "") counts.new++;
    else if (c.to === "") counts.removed++;
    else if (c.from === c.to) counts.changed++;
    else counts.moved++;
  }
  const words = Object.entries(counts).filter(([, n]) => n > 0).map(([what, n]) => `${n} ${what}`);
  return words.length === 0 ? "no changes" : words.join(", ");
}

/** above returns the tier above a tier, "" for the highest. */
export function above(tier: string): string {
  const order = ["L0", "L1", "L2", "L3", "active"];
  return order[order.indexOf(tier) - 1] ?? "";
}
