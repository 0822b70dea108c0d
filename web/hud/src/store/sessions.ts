import { computed, signal } from "@preact/signals";
import type { Activity, ServerEvent, SessionInfo } from "@strata/client";
import { call, client } from "./connection.ts";
import { notify } from "./notifications.ts";
import { questions } from "./questions.ts";
import { counts, info } from "./server.ts";
import { failed, toast, undoable } from "./toasts.ts";
import { mark, seen, unread } from "./unread.ts";

/** An entry of the session list. */
export interface Listed {
  info: SessionInfo;
  /** Its state, "" if idle. */
  state: string;
  /** What it does; undefined if idle. */
  activity?: Activity | undefined;
}

/** Pages of the list that are loaded automatically; scrolling loads more. */
const PAGES_AT_ONCE = 20;

export const sessions = signal<ReadonlyMap<string, Listed>>(new Map());
export const loading = signal(true);
export const nextCursor = signal<string | undefined>(undefined);
/** The list may be out of date. */
export const stale = signal(false);
/** A number that changes when sessions are deleted, undeleted or purged. */
export const binChanges = signal(0);

/** The ids of the sessions that wait for the user: with a question, or with a reply that was not seen. */
export const attention = computed<ReadonlySet<string>>(() => {
  const ids = new Set(questions.value.map((q) => q.sessionId));
  for (const [id, listed] of sessions.value) if (asks(listed) || unread.value.has(id)) ids.add(id);
  return ids;
});

/** A folder with its sessions. Folders and sessions are sorted by last use, most recent first. */
export interface Folder {
  path: string;
  sessions: Listed[];
  /** A client has the files: the path is only their name. */
  held: boolean;
}

export const folders = computed<Folder[]>(() => {
  const byPath = new Map<string, Listed[]>();
  const newestFirst = [...sessions.value.values()].sort((a, b) => (a.info.updatedAt < b.info.updatedAt ? 1 : -1));
  for (const listed of newestFirst) {
    const path = folderOf(listed.info);
    const folder = byPath.get(path);
    if (folder) folder.push(listed);
    else byPath.set(path, [listed]);
  }
  return [...byPath].map(([path, inside]) => ({ path, sessions: inside, held: inside.some((s) => isHeld(s.info)) }));
});

/** The paths of folders on the server's disk. */
export const diskFolders = computed<string[]>(() => folders.value.filter((f) => !f.held).map((f) => f.path));

/** lost marks the list as stale after the loss of the connection. */
export function lost(): void {
  stale.value = sessions.peek().size > 0;
}

/** follow lists the sessions and applies the events of the server to the list. It returns when the client is closed. */
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
      put(event.session);
      binChanges.value++;
      break;
    case "renamed":
      put(event.session);
      break;
    case "deleted":
      remove(event.sessionId);
      seen(event.sessionId);
      binChanges.value++;
      break;
    case "purged":
      binChanges.value++;
      break;
    case "state":
      stateChanged(event);
      break;
    case "counts":
      counts.value = event.counts;
      break;
    case "budget":
      toast(event.text, { bad: event.budget.state === "over" });
      break;
    case "mcp_servers":
      info.changed();
      break;
    case "resubscribed":
      counts.value = event.counts;
      void list();
      break;
    case "reset":
      info.changed();
      void list();
      break;
  }
}

/** listed returns the entry of a session as the server lists it. */
const listed = (info: SessionInfo): Listed => ({ info, state: info._meta?.strata?.state ?? "", activity: info._meta?.strata?.activity });

/** isHeld reports whether a client has the files of a session. */
export const isHeld = (info: SessionInfo): boolean => info._meta?.strata?.workspace === "client";

/** The folder of a session, the same for all spellings of its path. Files of a client are never those of a folder on disk. */
const folderOf = (info: SessionInfo): string => (isHeld(info) ? `${info.cwd} (files of an editor)` : (info._meta?.strata?.folder ?? info.cwd));

export function put(info: SessionInfo): void {
  const told = listed(info);
  const known = sessions.value.get(info.sessionId);
  sessions.value = new Map(sessions.value).set(info.sessionId, told.state === "" && known ? { ...known, info } : told);
}

function remove(id: string): void {
  const left = new Map(sessions.value);
  left.delete(id);
  sessions.value = left;
}

function stateChanged({ sessionId: id, state, activity, ended }: Extract<ServerEvent, { type: "state" }>): void {
  const known = sessions.value.get(id);
  if (!known) return;
  const shown = state === "idle" || state === "closed" ? "" : state;
  sessions.value = new Map(sessions.value).set(id, { ...known, state: shown, activity });
  if (state === "idle") void touch(id);
  if (ended && ended.status !== "cancelled") replied(known.info, ended.status === "completed");
  if (activity?.kind === "asking" && known.activity?.kind !== "asking") {
    notify(id, titleOf(known.info), `Needs permission: ${activity.title ?? ""}`, () => asks(sessions.peek().get(id)));
  }
}

/** asks reports whether a session waits for a decision of the user. */
export const asks = (listed: Listed | undefined): boolean => listed?.activity?.kind === "asking";

/** replied marks a session whose reply has ended out of the user's sight. */
function replied(info: SessionInfo, complete: boolean): void {
  if (mark(info.sessionId)) notify(info.sessionId, titleOf(info), complete ? "The reply is complete" : "The reply failed");
}

/** missed marks the sessions whose reply has ended while the page was not connected. */
function missed(before: ReadonlyMap<string, Listed>, now: ReadonlyMap<string, Listed>): void {
  for (const [id, { state }] of before) {
    const found = now.get(id);
    if (state === "running" && found && found.state !== "running") replied(found.info, true);
  }
}

/** touch updates the time of a session, which moves it up in the list. */
async function touch(id: string): Promise<void> {
  try {
    put((await call("_strata/session/info", { sessionId: id })).session);
  } catch {
    // deleted meanwhile: an event removes it from the list
  }
}

let listing = 0;

/** list reloads the list. The previous list remains until then. */
export async function list(): Promise<void> {
  const token = ++listing;
  loading.value = true;
  try {
    const found = new Map<string, Listed>();
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_AT_ONCE; page++) {
      const response = await call("session/list", cursor ? { cursor } : {});
      if (token !== listing) return;
      for (const info of response.sessions) found.set(info.sessionId, listed(info));
      cursor = response.nextCursor;
      if (page === 0 && sessions.value.size === 0) sessions.value = new Map(found);
      if (cursor === undefined) break;
    }
    missed(sessions.peek(), found);
    sessions.value = found;
    nextCursor.value = cursor;
    stale.value = false;
  } catch (error) {
    if (token === listing) failed("Cannot list sessions")(error);
  } finally {
    if (token === listing) loading.value = false;
  }
}

/** listMore loads the next page of the list. */
export async function listMore(): Promise<void> {
  const cursor = nextCursor.value;
  if (cursor === undefined || loading.value) return;
  loading.value = true;
  try {
    const response = await call("session/list", { cursor });
    const all = new Map(sessions.value);
    for (const info of response.sessions) all.set(info.sessionId, listed(info));
    sessions.value = all;
    nextCursor.value = response.nextCursor;
  } catch (error) {
    failed("Cannot list sessions")(error);
  } finally {
    loading.value = false;
  }
}

export async function rename(id: string, title: string): Promise<void> {
  put(await call("_strata/session/rename", { sessionId: id, title }));
}

/** discard deletes a session and offers an undo. */
export async function discard(id: string, title: string): Promise<void> {
  await call("session/delete", { sessionId: id });
  remove(id);
  undoable(`“${title}” deleted.`, async () => put(await call("_strata/session/undelete", { sessionId: id })));
}

/** create creates a session in a folder, with a model ("" for the default one), and returns its id. */
export async function create(cwd: string, model: string): Promise<string> {
  const { sessionId, configOptions } = await call("session/new", { cwd, mcpServers: [] });
  const option = configOptions.find((o) => o.id === "model");
  if (model !== "" && option && option.currentValue !== model) {
    await call("session/set_config_option", { sessionId, configId: option.id, value: model }).catch(failed("Cannot choose the model"));
  }
  return sessionId;
}

export const titleOf = (info: SessionInfo): string => info.title || "Untitled session";
