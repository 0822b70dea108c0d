import type { DraftFigures } from "@strata/client";
import { useEffect } from "preact/hooks";
import type { Draft } from "../store/drafts.ts";
import type { SessionView } from "../store/session.ts";
import { count, dollars, plural, short } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";
import { ItemName } from "../ui/item-name.tsx";

/** useMeasured measures a draft while it is shown, null for none, and again after changes of the next request. */
export function useMeasured(view: SessionView, draft: Draft | null): void {
  const changed = view.budget.at.value;
  useEffect(() => view.draft.draft(draft), [view, draft, changed]);
  useEffect(() => () => view.draft.draft(null), [view]);
}

/** What a draft adds to the next request, and what that costs; nothing without a draft. */
export function DraftLine({ view }: { view: SessionView }) {
  const figures = view.draft.figures.value;
  if (!figures) return null;
  const changes = [...figures.evicts, ...figures.truncates, ...figures.unread];
  const { tokens, used, expectedRead, cost } = figures;
  const data = { "data-draft": tokens, "data-used": used, "data-read": expectedRead, "data-cost": cost?.input };
  if (changes.length === 0) return <p class="draft-line" {...data}><Figures of={figures} /></p>;
  return (
    <details class="draft-line" {...data}>
      <summary><Figures of={figures} /></summary>
      <ul class="lines">
        {changes.map((o) => (
          <li key={o.key} class="entry" data-draft-item={o.key}>
            <ItemName view={view} of={o.key} />
            <span class="quiet">{(o.count ?? 1) > 1 && `${plural(o.count ?? 1, "message")}, `}{reasonText(o.reason)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** items counts items; each message of a run counts. */
const items = (all: DraftFigures["evicts"]): number => all.reduce((sum, o) => sum + (o.count ?? 1), 0);

function Figures({ of }: { of: DraftFigures }) {
  const { tooLarge, compacts, evicts, truncates, unread } = of;
  if (tooLarge) return <span class="bad" role="status">Too large: {plural(tooLarge.tokens, "token")} exceeds the limit of {count(tooLarge.limit)}</span>;
  const warnings = [
    compacts?.when === "before" && "compacts the history first",
    compacts?.when === "after" && "compaction after the reply",
    evicts.length > 0 && `evicts ${plural(items(evicts), "item")}`,
    truncates.length > 0 && `truncates ${plural(items(truncates), "item")}`,
    unread.length > 0 && `${plural(unread.length, "file")} not read`,
  ].filter((w) => w !== false);
  return (
    <>
      +{plural(of.tokens, "token")}
      {of.expectedRead > 0 && <>, reads {short(of.expectedRead)} from the cache</>}
      {of.cost && <>, about {dollars(of.cost.input)}</>}
      {warnings.length > 0 && <span class="warn">, {warnings.join(", ")}</span>}
    </>
  );
}
