import type { LeftOut as Left } from "@strata/client";
import { useState } from "preact/hooks";
import { plural, sentence } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";
import { byReason } from "./left.ts";

/** So many of a reason are listed until somebody wants all. */
const SHOWN = 8;

/** What the next request could not hold, and why. */
export function LeftOut({ leftOut }: { leftOut: readonly Left[] }) {
  return (
    <section class="card" aria-labelledby="left-out">
      <h2 id="left-out">Left out</h2>
      {leftOut.length === 0 && <p class="quiet">Nothing: the request holds all that it should.</p>}
      {byReason(leftOut).map((group) => <Group key={group.reason} group={group} />)}
    </section>
  );
}

function Group({ group }: { group: ReturnType<typeof byReason>[number] }) {
  const [all, setAll] = useState(false);
  const shown = all ? group.entries : group.entries.slice(0, SHOWN);
  const rest = group.entries.length - shown.length;
  return (
    <>
      <h3 class="group">{sentence(group.reason)}<span class="quiet">{plural(group.items, "item")}{group.tokens > 0 && <>, <Tokens n={group.tokens} /> tokens</>}</span></h3>
      <ul class="lines">
        {shown.map((l) => (
          <li key={l.key} class="entry" data-left={l.key}>
            <code class="entry-key" title={l.key}>{l.key}</code>
            {(l.count ?? 1) > 1 && <span class="quiet">a run of {l.count}</span>}
            {l.tokens !== undefined && <span class="entry-number"><Tokens n={l.tokens} /></span>}
          </li>
        ))}
      </ul>
      {rest > 0 && <button type="button" class="link" onClick={() => setAll(true)}>Show {rest} more</button>}
    </>
  );
}
