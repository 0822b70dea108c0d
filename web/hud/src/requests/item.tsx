import type { ComparedItem, ItemChange, LeftOut, Place, SentItem } from "@strata/client";
import type { ComponentChildren } from "preact";
import type { SessionView } from "../store/session.ts";
import { plural, sentence } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { changeWords, reasonOf, whyIn } from "./words.ts";

interface ItemProps {
  view: SessionView;
  compared: ComparedItem;
  /** The item in the later request; undefined if that does not contain the item. */
  sent: SentItem | undefined;
  /** There is an earlier request. */
  beside: boolean;
}

/** An item in both requests, side by side. In a narrow viewport, the earlier one is only shown if the later request lacks the item. */
export function Item({ view, compared, sent, beside }: ItemProps) {
  const { change, key, before, after, reason = "" } = compared;
  return (
    <div class={`compared ${beside ? "beside" : ""} is-${change}`} role="listitem" data-change={change} data-item={key} data-reason={reason}>
      {beside && (before ? <Cell view={view} of={key} place={before} side="before">{!after && <Why change={change} reason={reason} />}</Cell> : <div class="compared-cell none" />)}
      {after ? (
        <Cell view={view} of={key} place={after} side="after">
          <Why change={change} reason={reason} />
          {before && before.tokens !== after.tokens && <span class="quiet">was <Tokens n={before.tokens} /></span>}
          {sent?.shortened && <span class="mark">shortened: {reasonOf(sent.shortened.reason)}, <Tokens n={sent.shortened.tokens} /> omitted</span>}
          {sent && <span class="quiet">{whyIn(sent)}</span>}
        </Cell>
      ) : <div class="compared-cell none" />}
    </div>
  );
}

/** What happened to an item, and why. */
function Why({ change, reason }: { change: ItemChange; reason: string }) {
  if (change === "same") return reason === "" ? null : <span class="quiet">{reasonOf(reason)}</span>;
  return <span class="mark">{changeWords(change, reason)}</span>;
}

interface CellProps {
  view: SessionView;
  of: string;
  place: Place;
  side: "before" | "after";
  children: ComponentChildren;
}

function Cell({ view, of, place, side, children }: CellProps) {
  return (
    <div class={`compared-cell ${side}`} data-index={place.index} data-tokens={place.tokens}>
      <ItemName view={view} of={of} />
      <span class="entry-number"><Tokens n={place.tokens} /></span>
      <span class="compared-more">
        {children}
        <span class="quiet">{place.tier === "active" ? "active" : `tier ${place.tier}`}, N {place.n}</span>
        {place.mark && <span class="quiet">cache breakpoint</span>}
      </span>
    </div>
  );
}

/** An item that the request omits. */
export function OmittedItem({ view, omitted }: { view: SessionView; omitted: LeftOut }) {
  return (
    <div class="compared" role="listitem" data-omitted={omitted.key}>
      <div class="compared-cell after">
        <ItemName view={view} of={omitted.key} />
        {omitted.tokens !== undefined && <span class="entry-number"><Tokens n={omitted.tokens} /></span>}
        <span class="compared-more">
          <span class="mark">{sentence(reasonOf(omitted.reason))}</span>
          {(omitted.count ?? 1) > 1 && <span class="quiet">{plural(omitted.count ?? 1, "message")}</span>}
        </span>
      </div>
    </div>
  );
}
