import "../app.tsx"; // the build then keeps the first load in one file
import type { RequestCall, RequestComparison, SentRequest } from "@strata/client";
import { useEffect, useMemo, useState } from "preact/hooks";
import { sessionAddress } from "../routes.ts";
import { isOpen } from "../store/connection.ts";
import { keptRequest } from "../store/kept-request.ts";
import type { SessionView } from "../store/session.ts";
import { dollars, fully, plural, when } from "../text/format.ts";
import { Empty, Progress, TokenCount, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { Choice } from "./choice.tsx";
import { Item, OmittedItem } from "./item.tsx";
import type { RequestProps } from "./lazy.tsx";
import { rowsOf, type Row } from "./rows.ts";
import { basisOf, notKept, reasonOf } from "./words.ts";

/** The request of a call as it was sent, beside another one. */
export function Page({ view, of, other }: RequestProps) {
  const kept = useMemo(() => keptRequest(view, of, other), [view, of, other]);
  const found = useFetched(kept);
  const open = isOpen.value;
  useEffect(() => {
    if (open && !kept.value.peek()) kept.changed();
  }, [open, kept]);
  const got = found?.got;
  const compared = found?.compared ?? null;
  return (
    <section class="request-page column" aria-labelledby="request-title">
      <div class="panel-head">
        <div class="one-line">
          <h2 id="request-title">Request{got?.call && <> of <time dateTime={got.call.at} title={fully(got.call.at)}>{when(got.call.at)}</time></>}</h2>
          {got?.call && <span class="quiet">{got.call.purpose}, <span class="mono">{got.call.model}</span></span>}
          <span class="grow" />
          <a class="button small" href={sessionAddress(view.id)}>Conversation</a>
          <a class="button small" href={sessionAddress(view.id, "cost")}>All calls</a>
        </div>
        {got?.call && <Choice view={view} call={got.call} other={compared?.with?.callId ?? ""} />}
      </div>
      <Shown of={kept} class="column">
        {!found && kept.failure.value === "" && <Progress value={undefined} label="Loading the request" />}
        {got && !got.kept && <Empty title="Request not kept"><p data-not-kept={got.reason}>{notKept[got.reason]}</p></Empty>}
        {got?.kept && compared && !compared.kept && <p class="note" data-not-compared={compared.reason}>No comparison. {notKept[compared.reason]}</p>}
        {got?.kept && <Rows key={`${of} ${other}`} view={view} request={got.request} comparison={compared?.kept ? compared : null} />}
      </Shown>
    </section>
  );
}

function Rows({ view, request, comparison }: { view: SessionView; request: SentRequest; comparison: RequestComparison | null }) {
  const [open, setOpen] = useState(false);
  const rows = useMemo(() => rowsOf(request, comparison, open), [request, comparison, open]);
  return (
    <>
      {comparison && (
        <div class="compared beside heads">
          <Head title="Earlier request" call={comparison.with} />
          <Head title="This request" call={comparison.call} />
        </div>
      )}
      <VirtualList class="compared-list" focusable role="list" label={comparison ? "Items of both requests" : "Items of the request"} rows={rows} estimate={() => 52}
        draw={(row) => <Line view={view} row={row} beside={comparison !== null} onFold={() => setOpen(!open)} />} />
    </>
  );
}

function Head({ title, call }: { title: string; call: RequestCall }) {
  return (
    <p class="compared-head" data-call={call.callId}>
      <strong>{title}</strong> <time class="quiet" dateTime={call.at} title={fully(call.at)}>{when(call.at)}</time>{" "}
      <span class="quiet"><TokenCount n={call.input + call.cacheRead + call.cacheWrite} />, <Tokens n={call.cacheRead} /> read from the cache</span>
    </p>
  );
}

function Line({ view, row, beside, onFold }: { view: SessionView; row: Row; beside: boolean; onFold: () => void }) {
  switch (row.kind) {
    case "fold":
      return (
        <div class="tier-head" role="listitem" data-prefix={row.items} data-tokens={row.tokens}>
          <button type="button" class="disclosure-line" aria-expanded={row.open} onClick={onFold}>
            <Icon name={row.open ? "down" : "chevron"} />
            <span class="tier-name">Unchanged</span>
            <span class="quiet">{plural(row.items, "item")}</span>
          </button>
          <span class="entry-number"><Tokens n={row.tokens} /></span>
        </div>
      );
    case "ends":
      return <Ends view={view} comparison={row.comparison} />;
    case "item":
      return <Item view={view} compared={row.compared} sent={row.sent} beside={beside} />;
    case "heading":
      return <div class="tier-head" role="listitem"><span class="tier-name">{row.text}</span></div>;
    case "omitted":
      return <OmittedItem view={view} omitted={row.omitted} />;
  }
}

/** The place at which the cache of the earlier request ends, and what the provider read anew. */
function Ends({ view, comparison }: { view: SessionView; comparison: RequestComparison }) {
  const { firstChange: first, anew } = comparison;
  return (
    <div class={first ? "cache-ends" : "cache-ends continued"} role="listitem" data-first={first?.key ?? ""} data-anew={anew.tokens} data-cost={anew.cost}>
      {first
        ? <p class="one-line"><strong>Cache ends here:</strong> <ItemName view={view} of={first.key} /> <span>{reasonOf(first.reason)}</span></p>
        : <p><strong>Nothing changed.</strong> This request only adds items at the end.</p>}
      <p class="quiet">
        <TokenCount n={anew.tokens} /> read anew, {basisOf(comparison)}{anew.cost > 0 && <>; <span title={`$${anew.cost}`}>{dollars(anew.cost)}</span> more than from the cache</>}
        {comparison.resentTokens > 0 && <>. <TokenCount n={comparison.resentTokens} /> of the items below were in the earlier request, too</>}
      </p>
    </div>
  );
}
