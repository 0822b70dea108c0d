import { computed, signal } from "@preact/signals";
import type { ServerEvent, SessionInfo } from "@strata/client";
import { call, client } from "./connection.ts";
import { counts } from "./server.ts";
import { failed, toast } from "./toasts.ts";

/** A session of the list. */
export interface Listed {
  info: SessionInfo;
  /** What it is doing; "" where that is nothing. */
  state: string;
}

/** Pages of the list that are asked for by themselves; further ones when somebody wants them. */
const PAGES_AT_ONCE = 20;

export const sessions = signal<ReadonlyMap<string, Listed>>(new Map());
export const loading = signal(true);
export const nextCursor = signal<string | undefined>(undefined);
/** The list may be older than the server's. */
export const stale = signal(false);

/** A folder with its sessions, both with the one used last first. */
export interface Folder {
  path: string;
  sessions: Listed[];
}

export const folders = computed<Folder[]>(() => {
  const byPath = new Map<string, Listed[]>();
  const newestFirst = [...sessions.value.values()].sort((a, b) => (a.info.updatedAt < b.info.updatedAt ? 1 : -1));
  for (const listed of newestFirst) {
    const folder = byPath.get(listed.info.cwd);
    if (folder) folder.push(listed);
    else byPath.set(listed.info.cwd, [listed]);
  }
  return [...byPath].map(([path, inside]) => ({ path, sessions: inside }));
});

/** The connection was lost: nobody knows what becomes of the sessions meanwhile. */
export function lost(): void {
  stale.value = sessions.peek().size > 0;
}

/** Lists the sessions and follows what becomes of them, for as long as the page lives. */
export async function follow(): Promise<void> {
  const open = client.value;
  if (!open) return;
  const events = open.serverEvents();
  void list();
  for await (const event of events) take(event);
}

function take(event: ServerEvent): void {
  switch (event.type) {
    case "created":
    case "renamed":
      put(event.session);
      break;
    case "deleted":
      remove(event.sessionId);
      break;
    case "state":
      stateChanged(event.sessionId, event.state);
      break;
    case "counts":
      counts.value = event.counts;
      break;
    case "resubscribed":
      counts.value = event.counts;
      void list();
      break;
    case "reset":
      void list();
      break;
  }
}

const stateOf = (info: SessionInfo): string => {
  const strata = info._meta?.["strata"];
  const state = strata && typeof strata === "object" && !Array.isArray(strata) ? strata["state"] : undefined;
  return typeof state === "string" ? state : "";
};

export function put(info: SessionInfo): void {
  const known = sessions.value.get(info.sessionId);
  sessions.value = new Map(sessions.value).set(info.sessionId, { info, state: stateOf(info) || (known?.state ?? "") });
}

function remove(id: string): void {
  const left = new Map(sessions.value);
  left.delete(id);
  sessions.value = left;
}

function stateChanged(id: string, state: string): void {
  const known = sessions.value.get(id);
  if (!known) return;
  const shown = state === "idle" || state === "closed" ? "" : state;
  sessions.value = new Map(sessions.value).set(id, { ...known, state: shown });
  if (state === "idle") void touch(id);
}

/** A session that did something stands further up in the list. */
async function touch(id: string): Promise<void> {
  try {
    put((await call("_strata/session/info", { sessionId: id })).session);
  } catch {
    // it was deleted meanwhile, which an event tells
  }
}

let listing = 0;

/** Asks for the list anew. What was known stays until it is there. */
export async function list(): Promise<void> {
  const mine = ++listing;
  loading.value = true;
  try {
    const found = new Map<string, Listed>();
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_AT_ONCE; page++) {
      const answer = await call("session/list", cursor ? { cursor } : {});
      if (mine !== listing) return;
      for (const info of answer.sessions) found.set(info.sessionId, { info, state: stateOf(info) });
      cursor = answer.nextCursor;
      if (page === 0 && sessions.value.size === 0) sessions.value = new Map(found);
      if (cursor === undefined) break;
    }
    sessions.value = found;
    nextCursor.value = cursor;
    stale.value = false;
  } catch (error) {
    if (mine === listing) failed("The sessions could not be listed")(error);
  } finally {
    if (mine === listing) loading.value = false;
  }
}

/** Lists the page behind what is known. */
export async function listMore(): Promise<void> {
  const cursor = nextCursor.value;
  if (cursor === undefined || loading.value) return;
  loading.value = true;
  try {
    const answer = await call("session/list", { cursor });
    const all = new Map(sessions.value);
    for (const info of answer.sessions) all.set(info.sessionId, { info, state: stateOf(info) });
    sessions.value = all;
    nextCursor.value = answer.nextCursor;
  } catch (error) {
    failed("The sessions could not be listed")(error);
  } finally {
    loading.value = false;
  }
}

export async function rename(id: string, title: string): Promise<void> {
  put(await call("_strata/session/rename", { sessionId: id, title }));
}

/** Deletes a session and offers to bring it back. */
export async function discard(id: string, title: string): Promise<void> {
  await call("session/delete", { sessionId: id });
  remove(id);
  toast(`“${title}” was deleted.`, { action: { label: "Undo", run: () => void undelete(id) } });
}

async function undelete(id: string): Promise<void> {
  try {
    put(await call("_strata/session/undelete", { sessionId: id }));
  } catch (error) {
    failed("The session could not be brought back")(error);
  }
}

/** Begins a session in a folder; returns its id. */
export async function create(cwd: string): Promise<string> {
  return (await call("session/new", { cwd, mcpServers: [] })).sessionId;
}

export const titleOf = (info: SessionInfo): string => info.title || "Untitled session";
