import type { LeftOut } from "@strata/client";
import { useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { plural, sentence } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";
import { TokenCount, Tokens } from "../ui/controls.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { byReason } from "./omitted.ts";

/** Number of items of a reason that are listed at first. */
const SHOWN = 8;

/** The items omitted from the next request, by reason. */
export function Omitted({ view, leftOut }: { view: SessionView; leftOut: readonly LeftOut[] }) {
  return (
    <section class="card" aria-labelledby="omitted">
      <h2 id="omitted">Omitted</h2>
      {leftOut.length === 0 && <p class="quiet">Nothing omitted</p>}
      {byReason(leftOut).map((group) => <Group key={group.reason} view={view} group={group} />)}
    </section>
  );
}

function Group({ view, group }: { view: SessionView; group: ReturnType<typeof byReason>[number] }) {
  const [all, setAll] = useState(false);
  const shown = all ? group.entries : group.entries.slice(0, SHOWN);
  const rest = group.entries.length - shown.length;
  return (
    <>
      <h3 class="group">{sentence(reasonText(group.reason))}<span class="quiet">{plural(group.items, "item")}{group.tokens > 0 && <>, <TokenCount n={group.tokens} /></>}</span></h3>
      <ul class="lines">
        {shown.map((l) => (
          <li key={l.key} class="entry" data-omitted={l.key}>
            <ItemName view={view} of={l.key} />
            {(l.count ?? 1) > 1 && <span class="quiet">{plural(l.count ?? 1, "message")}</span>}
            {l.tokens !== undefined && <span class="entry-number"><Tokens n={l.tokens} /></span>}
          </li>
        ))}
      </ul>
      {rest > 0 && <button type="button" class="link" onClick={() => setAll(true)}>Show {rest} more</button>}
    </>
  );
}
