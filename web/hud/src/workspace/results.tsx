import type { IndexStatus, OutlineHit } from "@strata/client";
import { useEffect, useRef } from "preact/hooks";
import { MAX_RESULTS, type WorkspaceSearch } from "../store/workspace-search.ts";
import { plural } from "../text/format.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Hit } from "../ui/filter.tsx";
import { RESULTS, resultId } from "./search-field.tsx";

/** The symbols and files that a search found, best first. */
export function Results({ search, index }: { search: WorkspaceSearch; index: IndexStatus | undefined }) {
  const hits = search.hits.value;
  if (search.problem.value !== "") return <div class="window"><Empty title="Search failed"><p role="alert">{search.problem.value}</p></Empty></div>;
  if (!hits) return <div class="column"><Progress value={undefined} label="Searching" /></div>;
  if (hits.length === 0) {
    return (
      <div class="window" aria-busy={search.searching.value}>
        <Empty title={`No results for “${search.query.value.trim()}”`}>
          <p role="status">{index && !index.complete ? "Not all files of the folder are read yet." : "The search matches names of symbols, files and folders."}</p>
        </Empty>
      </div>
    );
  }
  return (
    <div class="window results" aria-busy={search.searching.value}>
      {search.searching.value && <Progress value={undefined} label="Searching" />}
      <p class="note" role="status">{hits.length === MAX_RESULTS ? `The best ${MAX_RESULTS} results` : plural(hits.length, "result")}</p>
      <ul role="listbox" id={RESULTS} aria-label="Symbols and files">
        {hits.map((hit, i) => <Result key={`${hit.path} ${hit.line ?? 0} ${hit.name}`} search={search} hit={hit} at={i} />)}
      </ul>
    </div>
  );
}

function Result({ search, hit, at }: { search: WorkspaceSearch; hit: OutlineHit; at: number }) {
  const element = useRef<HTMLLIElement>(null);
  const active = search.active.value === at;
  useEffect(() => {
    if (active) element.current?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <li ref={element} id={resultId(at)} role="option" class="pick" aria-selected={active} data-hit={hit.path} data-line={hit.line ?? 0}
      onMouseDown={(e) => e.preventDefault()} onClick={() => (search.chosen.value = { path: hit.path, line: hit.line ?? 0 })}>
      <span class="entry-label"><Hit text={hit.name} filter={search.query.value} /></span>
      <span class="quiet">{hit.kind}</span>
      <code class="pick-more entry-key cut" title={hit.path}><Cut text={hit.line === undefined ? hit.path : `${hit.path}:${hit.line}`} /></code>
    </li>
  );
}
