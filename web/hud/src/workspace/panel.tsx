import { useMemo } from "preact/hooks";
import { stateOf } from "../files/rows.ts";
import type { SessionView } from "../store/session.ts";
import { Progress, Tokens } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { FileOutline } from "./file-outline.tsx";
import { IndexLine } from "./index-line.tsx";
import { Results } from "./results.tsx";
import { knownRows, type KnownRow } from "./rows.ts";
import { SearchField } from "./search-field.tsx";

/** The search for symbols and files of the session's folder, and what the model knows of each file. */
export function WorkspacePanel({ view }: { view: SessionView }) {
  const { query, chosen } = view.workspace;
  return (
    <div class="panel fill workspace">
      <div class="panel-head">
        <SearchField search={view.workspace} />
        <IndexLine view={view} />
      </div>
      {chosen.value ? <FileOutline key={chosen.value.path} view={view} chosen={chosen.value} />
        : query.value.trim() === "" ? <Known view={view} /> : <Results search={view.workspace} index={view.index.value.value} />}
    </div>
  );
}

/** The files that the model knows, in full, in part or as outlines. */
function Known({ view }: { view: SessionView }) {
  const known = useFetched(view.knownFiles)?.files;
  const files = useFetched(view.files)?.files;
  const rows = useMemo(() => (known && files ? knownRows(known, files) : null), [known, files]);
  const both = [view.knownFiles, view.files];
  return (
    <Shown of={both} class="column">
      {rows ? <VirtualList class="known" focusable role="list" label="Files that the model knows" rows={rows} estimate={estimate} draw={(row) => <Line view={view} row={row} />} />
        : !both.some((f) => f.failure.value) && <Progress value={undefined} label="Loading the files" />}
    </Shown>
  );
}

const estimate = (row: KnownRow): number => (row.kind !== "file" ? 36 : row.stated ? 48 : 29);

function Line({ view, row }: { view: SessionView; row: KnownRow }) {
  switch (row.kind) {
    case "head":
      return <div class="tier-head" role="listitem"><h2 class="tier-name">{row.title}</h2><span class="quiet grow">{row.many}</span><span class="entry-number"><Tokens n={row.tokens} /></span></div>;
    case "file":
      return (
        <div role="listitem" data-known={row.file.path} data-state={row.file.state} data-tokens={row.file.tokens}>
          <button type="button" class="pick" onClick={() => (view.workspace.chosen.value = { path: row.file.path, line: 0 })}>
            <code class="entry-key cut" title={row.file.path}><Cut text={row.file.path} /></code>
            <span class="entry-number"><Tokens n={row.file.tokens} /></span>
            {row.stated && <span class={row.file.state === "not_available" ? "pick-more bad" : "pick-more quiet"}>{stateOf(row.file)}{row.file.read && row.file.state === "not_available" && `: ${row.file.reason}`}</span>}
          </button>
        </div>
      );
    case "none":
      return <p class="quiet none">{row.text}</p>;
  }
}
