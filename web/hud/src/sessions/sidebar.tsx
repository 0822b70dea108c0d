import { signal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { go, route, sessionAddress } from "../routes.ts";
import { isOpen } from "../store/connection.ts";
import { query, search } from "../store/search.ts";
import { folders, listMore, loading, nextCursor, sessions, stale, type Listed } from "../store/sessions.ts";
import { failed } from "../store/toasts.ts";
import { transfers } from "../store/transfers.ts";
import { base, plural } from "../text/format.ts";
import { Empty, IconButton, Progress } from "../ui/controls.tsx";
import { Icon, Logo } from "../ui/icons.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { FailedServers } from "../server/mcp.tsx";
import { openMenu, RowMenu, SessionLine } from "./row.tsx";
import { SearchResults } from "./search-results.tsx";
import { dialog } from "../dialogs.ts";

/** Collapsed folders. */
const collapsed = signal<ReadonlySet<string>>(new Set());

type Line = { key: string } & ({ kind: "folder"; path: string; many: number; open: boolean } | { kind: "session"; listed: Listed });

/** The list of all sessions, and the search in all messages. */
export function Sidebar() {
  const file = useRef<HTMLInputElement>(null);
  return (
    <nav class="sidebar" aria-label="Sessions">
      <header class="sidebar-head">
        <a class="brand" href="#/" aria-label="Strata home"><Logo />Strata</a>
        <IconButton icon="upload" label="Import session" disabled={!isOpen.value} onClick={() => file.current?.click()} />
        <IconButton icon="plus" label="Create session (n)" disabled={!isOpen.value} onClick={() => (dialog.value = "new")} />
        <input ref={file} type="file" accept=".jsonl,.ndjson,.json" class="hidden" tabIndex={-1} aria-label="Session export file"
          onChange={(e) => { importFile(e.currentTarget); }} />
      </header>
      <SearchField />
      {query.value.trim() === "" ? <List /> : <SearchResults />}
      <Transfers />
      {openMenu.value && <RowMenu />}
      <footer class="sidebar-foot">
        <a class={route.value.page === "server" ? "foot-link here" : "foot-link"} href="#/server" aria-current={route.value.page === "server" ? "page" : undefined}>
          <Icon name="server" />Server<FailedServers />
        </a>
        <a class="icon-button" href="#/bin" aria-label="Deleted sessions" title="Deleted sessions" aria-current={route.value.page === "bin" ? "page" : undefined}><Icon name="trash" /></a>
        <IconButton icon="help" label="Keyboard shortcuts (?)" onClick={() => (dialog.value = "help")} />
      </footer>
    </nav>
  );
}

function importFile(input: HTMLInputElement): void {
  const file = input.files?.[0];
  input.value = "";
  if (file) import("./parts.ts").then((m) => m.importSession(file, (id) => go(sessionAddress(id)))).catch(failed("Cannot import a session"));
}

function SearchField() {
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
    <div class="search">
      <Icon name="search" />
      <input id="search" type="search" dir="auto" class="search-field" placeholder="Search all messages" aria-label="Search all messages"
        value={query.value} onInput={(e) => search(e.currentTarget.value)} onKeyDown={keys} />
      {query.value === "" ? <kbd aria-hidden="true">/</kbd> : <IconButton icon="close" label="Clear search (Esc)" onClick={() => search("")} />}
    </div>
  );
}

function List() {
  const all = folders.value;
  const hidden = collapsed.value;
  const lines = useMemo(() => all.flatMap((f): Line[] => {
    const open = !hidden.has(f.path);
    const head: Line = { key: "folder " + f.path, kind: "folder", path: f.path, many: f.sessions.length, open };
    return open ? [head, ...f.sessions.map((listed): Line => ({ key: listed.info.sessionId, kind: "session", listed }))] : [head];
  }), [all, hidden]);
  if (sessions.value.size === 0 && loading.value) return <div class="window"><Progress value={undefined} label="Loading the sessions" /></div>;
  if (sessions.value.size === 0) {
    return (
      <div class="window">
        <Empty title="No sessions yet">
          <p>Create one here, in an editor, or with <code>strata ask</code>.</p>
        </Empty>
      </div>
    );
  }
  return (
    <>
      <VirtualList class={stale.value ? "session-list stale" : "session-list"} role="list" label="Sessions by folder" rows={lines} estimate={(l) => (l.kind === "folder" ? 34 : 32)}
        draw={(line) => (line.kind === "folder" ? <FolderLine line={line} /> : <SessionLine listed={line.listed} />)}
        onNearEnd={() => void listMore()} />
      {stale.value && <p class="sidebar-note bad" role="status">Not up to date: connection lost</p>}
      {nextCursor.value !== undefined && <p class="sidebar-note">{plural(sessions.value.size, "session")}; scroll for more</p>}
    </>
  );
}

function FolderLine({ line }: { line: Extract<Line, { kind: "folder" }> }) {
  const toggle = (): void => {
    const next = new Set(collapsed.value);
    if (!next.delete(line.path)) next.add(line.path);
    collapsed.value = next;
  };
  return (
    <div role="listitem"><button type="button" class="folder" aria-expanded={line.open} title={line.path} onClick={toggle}>
      <Icon name={line.open ? "down" : "chevron"} />
      <span class="folder-name">{base(line.path)}</span>
      <span class="quiet">{line.many}</span>
    </button></div>
  );
}

function Transfers() {
  if (transfers.value.length === 0) return null;
  return (
    <ul class="transfers" aria-label="Transfers">
      {transfers.value.map((t) => (
        <li key={t.id}>
          <span>{t.label}</span>
          <IconButton icon="close" label={`Cancel: ${t.label}`} onClick={t.cancel} />
          <Progress value={t.done} label={t.label} />
        </li>
      ))}
    </ul>
  );
}

