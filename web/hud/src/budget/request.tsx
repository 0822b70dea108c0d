import type { Assembled } from "@strata/client";
import { useEffect, useMemo, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import { Fetched } from "../store/fetched.ts";
import type { SessionView } from "../store/session.ts";
import { plural } from "../text/format.ts";
import { CopyButton, Dialog, Progress, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { requestRows, textOfMessage, type RequestRow } from "./request-rows.ts";

/** A button that opens the next request. The page requests it only then. */
export function Request({ view }: { view: SessionView }) {
  const [open, setOpen] = useState(false);
  return (
    <section class="card" aria-labelledby="request">
      <h2 id="request">Next request</h2>
      <p class="note">The next request, {view.draft.figures.value ? "with the draft" : "without a new prompt"}. Viewing it changes nothing.</p>
      <button type="button" class="button" id="show-request" disabled={!isOpen.value} onClick={() => setOpen(true)}>Show request</button>
      {open && <Opened view={view} onClose={() => setOpen(false)} />}
    </section>
  );
}

/** nextRequest returns the next request, with the draft unless that would be refused. */
async function nextRequest(view: SessionView): Promise<Assembled> {
  const { figures, measured } = view.draft;
  const draft = figures.peek() ? await view.call("_strata/context/draft", { prompt: measured, request: true }) : undefined;
  return draft?.request ?? view.call("_strata/context/assemble", { preview: true });
}

function Opened({ view, onClose }: { view: SessionView; onClose: () => void }) {
  const fetched = useMemo(
    () => new Fetched(() => nextRequest(view), () => isOpen.peek()), [view]);
  const request = useFetched(fetched);
  const changed = view.breakdown.at.value;
  useEffect(() => fetched.changed(), [changed]);
  return (
    <Dialog title="Next request" large onClose={onClose}>
      <Shown of={fetched} class="request">
        {request ? <Entries request={request} /> : fetched.failure.value === "" && <Progress value={undefined} label="Assembling the request" />}
      </Shown>
    </Dialog>
  );
}

function Entries({ request }: { request: Assembled }) {
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(() => requestRows(request, collapsed), [request, collapsed]);
  const toggle = (index: number): void => {
    const next = new Set(collapsed);
    if (!next.delete(index)) next.add(index);
    setCollapsed(next);
  };
  const all = collapsed.size === 0 ? new Set(request.messages.keys()) : new Set<number>();
  return (
    <>
      <div class="request-head">
        <span data-request-tokens={request.tokens}>{plural(request.tokens, "token")}</span>
        <span class="quiet">{plural(request.messages.length, "entry", "entries")}, {plural(request.breakpoints.length, "cache breakpoint")}, {request.tools.length > 0 && `${plural(request.tools.length, "tool")}, `}up
          to {plural(request.maxOutput, "output token")}, {request.model}</span>
        <span class="grow" />
        <button type="button" class="button small" onClick={() => setCollapsed(all)}>{collapsed.size === 0 ? "Collapse entries" : "Expand entries"}</button>
        <CopyButton text={() => JSON.stringify(request, null, 2)} label="Copy request as JSON" />
      </div>
      <VirtualList class="request-lines" focusable role="list" label="Request" rows={rows} estimate={estimate}
        draw={(row) => <Line row={row} request={request} toggle={toggle} />} />
    </>
  );
}

const estimate = (row: RequestRow): number => (row.kind === "text" ? 18 * row.text.split("\n").length + 8 : 32);

function Line({ row, request, toggle }: { row: RequestRow; request: Assembled; toggle: (index: number) => void }) {
  switch (row.kind) {
    case "entry":
      return (
        <div class="request-entry" role="listitem" data-entry={row.index} data-tokens={row.tokens}>
          <button type="button" class="disclosure-line" aria-expanded={!row.collapsed} onClick={() => toggle(row.index)}>
            <Icon name={row.collapsed ? "chevron" : "down"} />
            <span class="quiet">{row.index + 1}</span>
            <span class="request-role">{row.role}</span>
            {row.collapsed && <span class="request-first">{row.first}</span>}
          </button>
          <span class="quiet"><Tokens n={row.tokens} /></span>
          <CopyButton text={() => { const m = request.messages[row.index]; return m ? textOfMessage(m) : ""; }} label={`Copy entry ${row.index + 1}`} />
        </div>
      );
    case "text":
      return <pre class="request-text">{row.text}</pre>;
    case "breakpoint":
      return <p class="request-breakpoint" role="listitem" data-breakpoint={row.ttl}><span>Cache breakpoint, {row.ttl === "1h" ? "1 hour" : "5 minutes"}</span></p>;
  }
}
