import { useMemo, useState } from "preact/hooks";
import { setting } from "../store/remembered.ts";
import type { SessionView } from "../store/session.ts";
import { Progress, Tokens } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Filter } from "../ui/filter.tsx";
import { Icon } from "../ui/icons.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { AddDocument, AddFile } from "./add.tsx";
import { filesRows, type FilesRow, type Order } from "./rows.ts";
import { DocumentRow, FileRow } from "./row.tsx";

/** The order of files and documents, an `Order`. */
const chosenOrder = setting<string>("files order", "name");

/** The files and documents of a session: how much of each the model receives, and why. */
export function FilesPanel({ view }: { view: SessionView }) {
  const files = useFetched(view.files)?.files;
  const documents = useFetched(view.documents)?.documents;
  const breakdown = useFetched(view.breakdown);
  const [filter, setFilter] = useState("");
  const order: Order = chosenOrder.value === "size" ? "size" : "name";
  const rows = useMemo(() => (files && documents ? filesRows({ files, documents, breakdown, filter, order }) : null), [files, documents, breakdown, filter, order]);
  const all = [view.files, view.documents, view.breakdown];
  return (
    <div class="panel fill">
      <div class="panel-head">
        <div class="one-line">
          <AddFile view={view} />
          <AddDocument view={view} />
          <span class="grow" />
          <label class="choice"><span class="hidden">Order</span>
            <select value={order} onChange={(e) => (chosenOrder.value = e.currentTarget.value)}><option value="name">By name</option><option value="size">Largest first</option></select><Icon name="down" />
          </label>
        </div>
        <Filter label="Filter files and documents" value={filter} onInput={setFilter} />
      </div>
      <Shown of={all} class="column">
        {rows ? <VirtualList class="files" focusable role="list" label="Files and documents" rows={rows} estimate={estimate} draw={(row) => <Line view={view} row={row} filter={filter} />} />
          : !all.some((f) => f.failure.value) && <Progress value={undefined} label="Loading the files" />}
      </Shown>
    </div>
  );
}

const estimate = (row: FilesRow): number => (row.kind === "file" || row.kind === "document" ? 48 : 36);

function Line({ view, row, filter }: { view: SessionView; row: FilesRow; filter: string }) {
  switch (row.kind) {
    case "head":
      return <div class="tier-head" role="listitem"><h2 class="tier-name">{row.title}</h2><span class="quiet grow">{row.many}</span>{row.tokens > 0 && <span class="entry-number"><Tokens n={row.tokens} /></span>}</div>;
    case "file":
      return <FileRow view={view} file={row.file} unused={row.unused} filter={filter} />;
    case "document":
      return <DocumentRow view={view} document={row.document} unused={row.unused} filter={filter} />;
    case "removed":
      return <div class="entry" role="listitem" data-removed={row.path}><code class="entry-key cut" title={row.path}><Cut text={row.path} /></code><span class="entry-number"><Tokens n={row.tokens} /></span></div>;
    case "none":
      return <p class="quiet none">{row.text}</p>;
  }
}
