import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { go, route, sessionAddress } from "../routes.ts";
import { isOpen } from "../store/connection.ts";
import { query } from "../store/search.ts";
import { asks, folders, listMore, loading, nextCursor, sessions, stale, type Listed } from "../store/sessions.ts";
import { failed } from "../store/toasts.ts";
import { transfers } from "../store/transfers.ts";
import { unread } from "../store/unread.ts";
import { namesApart } from "../text/folders.ts";
import { plural } from "../text/format.ts";
import { Empty, IconButton, Progress } from "../ui/controls.tsx";
import { Icon, Logo } from "../ui/icons.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { FailedServers } from "../server/mcp.tsx";
import { Cut } from "../ui/cut.tsx";
import { SessionLine } from "./row.tsx";
import { SearchField } from "./search-field.tsx";
import { hideSessions } from "./sessions-pane.tsx";
import { useSteady } from "./steady.ts";
import { dialog } from "../dialogs.ts";
import { later } from "../ui/later.tsx";

const SearchResults = later(() => import("./search-results.tsx").then((m) => m.SearchResults));

/** Collapsed folders. */
const collapsed = signal<ReadonlySet<string>>(new Set());

type Line = { key: string } & ({ kind: "folder"; path: string; name: string; many: number; open: boolean; unread: number } | { kind: "session"; listed: Listed });

/** The list of all sessions, and the search. */
export function Sidebar({ children }: { children?: ComponentChildren }) {
  const file = useRef<HTMLInputElement>(null);
  return (
    <nav class="sidebar" aria-label="Sessions">
      <header class="sidebar-head">
        <a class="brand" href="#/" aria-label="Strata home"><Logo />Strata</a>
        <IconButton icon="upload" label="Import session" disabled={!isOpen.value} onClick={() => file.current?.click()} />
        <IconButton icon="plus" label="Create session (n)" disabled={!isOpen.value} onClick={() => (dialog.value = "new")} />
        <IconButton icon="sidebar" label="Hide sessions (b)" expanded onClick={hideSessions} />
        <input ref={file} type="file" accept=".jsonl,.ndjson,.json" class="hidden" tabIndex={-1} aria-label="Session export file"
          onChange={(e) => { importFile(e.currentTarget); }} />
      </header>
      <SearchField />
      {query.value.trim() === "" ? <List /> : <SearchResults />}
      <Transfers />
      <footer class="sidebar-foot">
        <a class={route.value.page === "server" ? "foot-link here" : "foot-link"} href="#/server" aria-current={route.value.page === "server" ? "page" : undefined}>
          <Icon name="server" />Server<FailedServers />
        </a>
        <a class="icon-button" href="#/bin" aria-label="Deleted sessions" title="Deleted sessions" aria-current={route.value.page === "bin" ? "page" : undefined}><Icon name="trash" /></a>
        <IconButton icon="help" label="Keyboard shortcuts (?)" onClick={() => (dialog.value = "help")} />
      </footer>
      {children}
    </nav>
  );
}

function importFile(input: HTMLInputElement): void {
  const file = input.files?.[0];
  input.value = "";
  if (file) import("./parts.ts").then((m) => m.importSession(file, (id) => go(sessionAddress(id)))).catch(failed("Cannot import a session"));
}

function List() {
  const [all, around] = useSteady(folders.value);
  const hidden = collapsed.value;
  const marked = unread.value;
  const lines = useMemo(() => {
    const names = namesApart(all.map((f) => f.path));
    const seen = new Set<string>();
    return all.flatMap((f): Line[] => {
      const open = !hidden.has(f.path);
      const key = seen.has(f.path) ? "new in " : "folder ";
      seen.add(f.path);
      const head: Line = {
        key: key + f.path, kind: "folder", path: f.path, name: names.get(f.path) ?? f.path, many: f.sessions.length, open,
        unread: open ? 0 : f.sessions.filter((s) => marked.has(s.info.sessionId) || asks(s)).length,
      };
      return open ? [head, ...f.sessions.map((listed): Line => ({ key: listed.info.sessionId, kind: "session", listed }))] : [head];
    });
  }, [all, hidden, marked]);
  return (
    <div ref={around} class="session-list-frame">
      {sessions.value.size === 0 ? <NoSessions /> : (
        <VirtualList class={stale.value ? "session-list stale" : "session-list"} role="list" label="Sessions by folder" rows={lines} estimate={(l) => (l.kind === "folder" ? 34 : 32)}
          draw={(line) => (line.kind === "folder" ? <FolderLine line={line} /> : <SessionLine listed={line.listed} />)}
          onNearEnd={() => void listMore()} />
      )}
      {stale.value && <p class="sidebar-note bad" role="status">Not up to date: connection lost</p>}
      {nextCursor.value !== undefined && <p class="sidebar-note">{plural(sessions.value.size, "session")}; scroll for more</p>}
    </div>
  );
}

function NoSessions() {
  if (loading.value) return <div class="window"><Progress value={undefined} label="Loading the sessions" /></div>;
  return (
    <div class="window">
      <Empty title="No sessions yet">
        <p>Create one here, in an editor, or with <code>strata ask</code>.</p>
      </Empty>
    </div>
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
      <span class="folder-name cut"><Cut text={line.name} /></span>
      {line.unread > 0 && <span class="mark">{line.unread}<span class="hidden"> unread</span></span>}
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

