import { signal } from "@preact/signals";
import type { FoundSession, SearchHit } from "@strata/client";
import { call } from "./connection.ts";
import { current } from "./session.ts";

/** Scope is where a search looks: everywhere, in a folder and those below it, or in one session. */
export type Scope = { kind: "all" } | { kind: "folder"; folder: string } | { kind: "session"; sessionId: string; title: string };

/** The search: the query, where it looks, and what it found. */
export const query = signal("");
export const scope = signal<Scope>({ kind: "all" });
/** The sessions found by title and folder, the number of all of them, and the cursor of the next page. */
export const found = signal<readonly FoundSession[]>([]);
export const total = signal(0);
export const moreSessions = signal<string | undefined>(undefined);
/** The messages. */
export const hits = signal<readonly SearchHit[]>([]);
export const more = signal<string | undefined>(undefined);
export const searching = signal(false);
export const problem = signal("");
/** Number of the newest messages that are not searched yet. */
export const behind = signal(0);

/** Delay between the last keystroke and the search, in milliseconds. */
const DEBOUNCE_MS = 180;

/** Delay until a search is repeated that did not include all messages, in milliseconds. */
const REPEAT_MS = 1000;

/** Number of sessions that are shown before the messages, and of those that a click adds. */
const FIRST_SESSIONS = 5;
const NEXT_SESSIONS = 50;

let running = new AbortController();
let timer = 0;

export function search(text: string): void {
  if (query.peek().trim() === "") scope.value = here(scope.peek().kind);
  query.value = text;
  clearTimeout(timer);
  running.abort();
  if (text.trim() === "") {
    found.value = [];
    total.value = 0;
    moreSessions.value = undefined;
    hits.value = [];
    more.value = undefined;
    problem.value = "";
    behind.value = 0;
    searching.value = false;
    return;
  }
  searching.value = true;
  timer = setTimeout(() => void ask(text, undefined), DEBOUNCE_MS) as unknown as number;
}

/** searchAgain repeats a search that failed. */
export function searchAgain(): void {
  if (problem.peek() !== "") search(query.peek());
}

/** searchIn changes where a search looks. The session or folder is that of the open session, also after another is opened. */
export function searchIn(kind: Scope["kind"]): void {
  scope.value = here(kind);
  search(query.peek());
}

/** here returns a scope of the open session; everywhere if none is open. */
function here(kind: Scope["kind"]): Scope {
  const open = current.peek();
  if (!open || kind === "all") return { kind: "all" };
  return kind === "folder" ? { kind, folder: open.cwd.peek() } : { kind, sessionId: open.id, title: open.title.peek() };
}

/** searchMore loads the next page of messages. */
export function searchMore(): void {
  if (more.value === undefined || searching.value) return;
  clearTimeout(timer);
  void ask(query.value, more.value);
}

/** searchMoreSessions loads the next page of sessions. */
export function searchMoreSessions(): void {
  const cursor = moreSessions.value;
  if (cursor === undefined || searching.value) return;
  void during(async (signal) => {
    const page = await askSessions(query.value, signal, cursor);
    if (signal.aborted) return;
    found.value = [...found.value, ...page.sessions];
    moreSessions.value = page.nextCursor;
  });
}

const ask = (text: string, cursor: string | undefined): Promise<void> => during(async (signal) => {
  const [page, sessions] = await Promise.all([
    call("_strata/history/search", { query: text, ...within(), ...(cursor ? { cursor } : {}) }, { signal }),
    cursor ? undefined : askSessions(text, signal),
  ]);
  if (signal.aborted) return;
  hits.value = cursor ? [...hits.value, ...page.hits] : page.hits;
  more.value = page.nextCursor;
  if (sessions) {
    found.value = sessions.sessions;
    total.value = sessions.total;
    moreSessions.value = sessions.nextCursor;
  }
  behind.value = page.behind ?? 0;
  if (behind.value > 0 && !cursor) timer = setTimeout(() => void ask(text, undefined), REPEAT_MS) as unknown as number;
});

/** within returns the parameters of the scope. */
function within(): { folder?: string; sessionId?: string } {
  const where = scope.peek();
  return where.kind === "folder" ? { folder: where.folder } : where.kind === "session" ? { sessionId: where.sessionId } : {};
}

type FoundPage = { sessions: FoundSession[]; total: number; nextCursor?: string };

/** askSessions searches titles and folders, but not within one session. */
async function askSessions(text: string, signal: AbortSignal, cursor?: string): Promise<FoundPage> {
  if (scope.peek().kind === "session") return { sessions: [], total: 0 };
  return call("_strata/session/search", { query: text, ...within(), limit: cursor ? NEXT_SESSIONS : FIRST_SESSIONS, ...(cursor ? { cursor } : {}) }, { signal });
}

/** during runs a request of the search, which the next one replaces. */
async function during(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const request = (running = new AbortController());
  searching.value = true;
  try {
    await run(request.signal);
    if (!request.signal.aborted) problem.value = "";
  } catch (error) {
    if (request.signal.aborted) return;
    hits.value = found.value = [];
    problem.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (request === running) searching.value = false;
  }
}
