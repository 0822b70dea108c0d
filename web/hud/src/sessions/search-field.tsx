import type { TargetedKeyboardEvent } from "preact";
import { query, scope, search, searchIn, type Scope } from "../store/search.ts";
import { current } from "../store/session.ts";
import { base } from "../text/format.ts";
import { IconButton } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";

/** The field of the search, and where it looks. */
export function SearchField() {
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Escape") {
      event.stopPropagation();
      if (query.value === "") event.currentTarget.blur();
      else search("");
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      document.querySelector<HTMLElement>(".sidebar .line a, .sidebar a.hit")?.focus();
    }
  };
  return (
    <>
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" dir="auto" class="search-field" placeholder="Search all sessions" aria-label="Search sessions and messages"
          value={query.value} onInput={(e) => search(e.currentTarget.value)} onKeyDown={keys} />
        {query.value === "" ? <kbd aria-hidden="true">/</kbd> : <IconButton icon="close" label="Clear search (Esc)" onClick={() => search("")} />}
      </div>
      {(query.value !== "" || scope.value.kind !== "all") && <ScopeField />}
    </>
  );
}

function ScopeField() {
  const where = scope.value;
  const open = current.value;
  const folder = where.kind === "folder" ? where.folder : (open?.cwd.value ?? "");
  const elsewhere = where.kind === "session" && where.sessionId !== open?.id;
  return (
    <select class="search-scope" aria-label="Search in" value={where.kind} title={where.kind === "folder" ? where.folder : undefined}
      onChange={(e) => searchIn(e.currentTarget.value as Scope["kind"])}>
      <option value="all">All sessions</option>
      <option value="folder" disabled={folder === ""}>Folder{folder === "" ? "" : ` ${base(folder)}`}</option>
      <option value="session" disabled={!open && where.kind !== "session"}>{elsewhere ? `Session ${where.title}` : "This session"}</option>
    </select>
  );
}
