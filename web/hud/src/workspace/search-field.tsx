import type { TargetedKeyboardEvent } from "preact";
import type { WorkspaceSearch } from "../store/workspace-search.ts";
import { IconButton } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";

/** The id of the list of results, and of one result. */
export const RESULTS = "workspace-results";
export const resultId = (i: number): string => `${RESULTS}-${i}`;

/** The search field of the panel, which has the id of other panels' filters: the key f focuses it. */
export function SearchField({ search }: { search: WorkspaceSearch }) {
  const query = search.query.value;
  const hits = search.chosen.value ? null : search.hits.value;
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "ArrowDown") search.move(1);
    else if (event.key === "ArrowUp") search.move(-1);
    else if (event.key === "Enter") search.choose();
    else if (event.key !== "Escape") return;
    else if (search.chosen.peek()) search.chosen.value = null;
    else if (query !== "") search.search("");
    else event.currentTarget.blur();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="search filter">
      <Icon name="search" />
      <input id="filter" type="text" class="search-field" role="combobox" placeholder="Search symbols and files" aria-label="Search symbols and files"
        aria-autocomplete="list" aria-expanded={hits !== null && hits.length > 0} aria-controls={RESULTS}
        aria-activedescendant={hits && hits.length > 0 ? resultId(search.active.value) : undefined}
        value={query} onInput={(e) => search.search(e.currentTarget.value)} onKeyDown={keys} />
      {query === "" ? <kbd aria-hidden="true">f</kbd> : <IconButton icon="close" label="Clear search (Esc)" onClick={() => search.search("")} />}
    </div>
  );
}
