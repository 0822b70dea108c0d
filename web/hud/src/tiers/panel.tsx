import type { Breakdown, TierItem } from "@strata/client";
import { useMemo, useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { count, plural, tokens } from "../text/format.ts";
import { Progress, TokenCount, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Filter } from "../ui/filter.tsx";
import { Icon } from "../ui/icons.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { nameOf, wordsOf } from "../text/items.ts";
import { above, cachedWords, stepOf, sumUp, tierRows, type TierRow } from "./rows.ts";

/** The tiers of the next request with their items: how long each is unchanged, and what the next rebuild removes. */
export function TiersPanel({ view }: { view: SessionView }) {
  const breakdown = useFetched(view.breakdown);
  return (
    <div class="panel fill">
      <Shown of={view.breakdown} class="column">
        {breakdown ? <Tiers view={view} breakdown={breakdown} /> : view.breakdown.failure.value === "" && <Progress value={undefined} label="Loading the tiers" />}
      </Shown>
    </div>
  );
}

function Tiers({ view, breakdown }: { view: SessionView; breakdown: Breakdown }) {
  const [filter, setFilter] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [outlinesOpen, setOutlinesOpen] = useState<ReadonlySet<string>>(new Set());
  const [changesOpen, openChanges] = useState(false);
  const labels = view.labels.of.value;
  const label = useMemo(() => (key: string) => wordsOf(nameOf(key, labels)), [labels]);
  const rows = useMemo(() => tierRows(breakdown, { filter, closed, outlinesOpen, changesOpen }, label), [breakdown, filter, closed, outlinesOpen, changesOpen, label]);
  return (
    <>
      <div class="panel-head">
        <Layout breakdown={breakdown} />
        <Filter label="Filter items" value={filter} onInput={setFilter} />
      </div>
      <VirtualList class="tiers" focusable role="list" label="Items by tier" rows={rows} estimate={estimate}
        draw={(row) => <Line view={view} row={row} filter={filter} onTier={(tier) => setClosed(toggled(closed, tier))}
          onOutlines={(tier) => setOutlinesOpen(toggled(outlinesOpen, tier))} onChanges={() => openChanges(!changesOpen)} />} />
    </>
  );
}

/** toggled returns a set with an element added, or removed if it was in the set. */
function toggled(set: ReadonlySet<string>, element: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(element)) next.add(element);
  return next;
}

const estimate = (row: TierRow): number => (row.kind === "item" ? 48 : row.kind === "change" ? 44 : 36);

/** The meaning of tiers in this layout, and why the next request is rebuilt, if it is. */
function Layout({ breakdown }: { breakdown: Breakdown }) {
  return (
    <p class="note" data-dead={breakdown.dead} data-cut={breakdown.cut ?? ""}>
      {breakdown.layout === "ripple" ? "Layout ripple: each tier is a separately cached block."
        : "Layout log: sent items keep their place; tiers show how long an item is unchanged."}
      {breakdown.cut && <> <strong>The next request is rebuilt: {breakdown.cut}.</strong></>}
      {breakdown.dead > 0 && <> <TokenCount n={breakdown.dead} /> unused until the next rebuild.</>}
    </p>
  );
}

interface LineProps {
  view: SessionView;
  row: TierRow;
  filter: string;
  onTier: (tier: string) => void;
  onOutlines: (tier: string) => void;
  onChanges: () => void;
}

function Line({ view, row, filter, onTier, onOutlines, onChanges }: LineProps) {
  switch (row.kind) {
    case "changes":
      return (
        <div class="tier-head" role="listitem">
          <button type="button" class="disclosure-line" aria-expanded={row.open} disabled={row.changes.length === 0} onClick={onChanges}>
            <Icon name={row.open ? "down" : "chevron"} />
            <span class="tier-name">Last reply</span>
            <span class="quiet">{sumUp(row.changes)}</span>
          </button>
        </div>
      );
    case "change":
      return (
        <div class="entry two" role="listitem" data-change={row.change.key}>
          <ItemName view={view} of={row.change.key} />
          <span class="entry-more quiet">{stepOf(row.change)}{row.change.reason && row.change.reason !== "new" && `: ${row.change.reason}`}</span>
        </div>
      );
    case "tier":
      return <TierHead row={row} filter={filter} onTier={onTier} />;
    case "outlines":
      return <Outlines row={row} filter={filter} onOutlines={onOutlines} />;
    case "item":
      return <Item view={view} row={row} filter={filter} />;
    case "none":
      return <p class="quiet none">{row.text}</p>;
  }
}

function TierHead({ row, filter, onTier }: { row: Extract<TierRow, { kind: "tier" }>; filter: string; onTier: (tier: string) => void }) {
  const { tier } = row;
  const many = filter === "" ? plural(tier.items.length, "item") : `${count(row.shown)} of ${plural(tier.items.length, "item")}`;
  return (
    <div class="tier-head" role="listitem" data-tier={tier.tier} data-tokens={tier.tokens} data-cached={tier.cached} data-items={tier.items.length}>
      <button type="button" class="disclosure-line" aria-expanded={row.open} onClick={() => onTier(tier.tier)}>
        <Icon name={row.open ? "down" : "chevron"} />
        <span class="tier-name">{tier.tier === "active" ? "Active" : tier.tier}</span>
        <span class="quiet">{tier.items.length > 0 && `${many}, `}{cachedWords(tier, tokens)}</span>
      </button>
      <span class="entry-number"><Tokens n={tier.tokens} /></span>
    </div>
  );
}

/** All outlines of a tier, which can be listed. */
function Outlines({ row, filter, onOutlines }: { row: Extract<TierRow, { kind: "outlines" }>; filter: string; onOutlines: (tier: string) => void }) {
  const many = row.items.filter((i) => i.key.startsWith("outline:")).length;
  const size = row.items.reduce((sum, i) => sum + i.tokens, 0);
  return (
    <div class="entry" role="listitem" data-outlines={row.tier} data-tokens={size} data-many={many}>
      <button type="button" class="disclosure-line" aria-expanded={row.open} aria-label={`Outlines in ${row.tier}: ${plural(many, "file")}`} disabled={filter !== ""} onClick={() => onOutlines(row.tier)}>
        <Icon name={row.open ? "down" : "chevron"} />
        <span>outlines ({count(many)})</span>
      </button>
      <span class="entry-number"><Tokens n={size} /></span>
    </div>
  );
}

function Item({ view, row, filter }: { view: SessionView; row: Extract<TierRow, { kind: "item" }>; filter: string }) {
  const { item, change } = row;
  return (
    <div class="entry two" role="listitem" data-item={item.key} data-tokens={item.tokens} data-n={item.n}>
      <ItemName view={view} of={item.key} filter={filter} />
      <span class="entry-number"><Tokens n={item.tokens} /></span>
      <span class="entry-more">
        <span class="quiet">{item.kind}</span>
        {change && change.from !== change.to && change.from !== "" && <span class="mark">from {change.from}</span>}
        {change && change.from === "" && <span class="mark">new</span>}
        {change && change.from === change.to && change.from !== "" && <span class="mark">{change.reason}</span>}
        <Leaves item={item} />
      </span>
      <Steps item={item} tier={row.tier} />
    </div>
  );
}

function Leaves({ item }: { item: TierItem }) {
  if (item.leaves) return <span class="mark">removed at the next rebuild</span>;
  return item.dead ? <span class="mark"><Tokens n={item.dead} /> unused until the next rebuild</span> : null;
}

/** The progress of an item to the next tier. */
function Steps({ item, tier }: { item: TierItem; tier: string }) {
  if (item.leaves) return null;
  if (item.nextThreshold <= 0) return <span class="steps quiet" title="Highest tier">N {item.n}</span>;
  const left = Math.max(item.nextThreshold - item.n, 0);
  const words = left === 0 ? "ready for the next tier" : `${plural(left, "more unchanged reply", "more unchanged replies")} to ${above(tier)}`;
  return (
    <span class="steps" title={words}>
      <span class="quiet">N {item.n} of {item.nextThreshold}</span>
      <progress class="progress" max={item.nextThreshold} value={Math.min(item.n, item.nextThreshold)} aria-label={`N ${item.n} of ${item.nextThreshold}, ${words}`} />
    </span>
  );
}
