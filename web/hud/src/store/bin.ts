import { signal } from "@preact/signals";
import type { DeletedSession } from "@strata/client";
import { call } from "./connection.ts";
import { put } from "./sessions.ts";
import { reason } from "./toasts.ts";

/** The deleted sessions as far as they are loaded, most recently deleted first; undefined before that. */
export const deleted = signal<readonly DeletedSession[] | undefined>(undefined);
/** The cursor of the next page; undefined after the last. */
export const more = signal<string | undefined>(undefined);
/** Why the list could not be loaded, "" if it could. */
export const problem = signal("");
export const loading = signal(false);

/** Maximum number of entries that are loaded again after a change. */
const MAX_RELOADED = 500;

let newest = 0;

/** reload loads the list again, as far as it was loaded. */
export async function reload(): Promise<void> {
  await load(++newest, [], undefined, Math.min(deleted.peek()?.length ?? 0, MAX_RELOADED));
}

export async function loadMore(): Promise<void> {
  if (more.peek() === undefined || loading.peek()) return;
  await load(newest, deleted.peek() ?? [], more.peek(), 0);
}

/** load adds pages to entries until there are more than `wanted`. A newer reload ends it. */
async function load(token: number, entries: readonly DeletedSession[], cursor: string | undefined, wanted: number): Promise<void> {
  loading.value = true;
  try {
    do {
      const page = await call("_strata/session/list_deleted", cursor ? { cursor } : {});
      if (token !== newest) return;
      entries = [...entries, ...page.sessions];
      cursor = page.nextCursor;
    } while (cursor !== undefined && entries.length < wanted);
    deleted.value = entries;
    more.value = cursor;
    problem.value = "";
  } catch (error) {
    if (token === newest) problem.value = reason(error);
  } finally {
    if (token === newest) loading.value = false;
  }
}

const without = (id: string): void => {
  deleted.value = deleted.value?.filter((s) => s.sessionId !== id);
};

/** undelete puts a session back into the list. */
export async function undelete(sessionId: string): Promise<void> {
  put(await call("_strata/session/undelete", { sessionId }));
  without(sessionId);
}

/** purge deletes a session for good. */
export async function purge(sessionId: string): Promise<void> {
  await call("_strata/session/purge", { sessionId });
  without(sessionId);
}
