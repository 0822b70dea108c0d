import { signal } from "@preact/signals";
import { route } from "../routes.ts";
import { onChange, recall, remember } from "./remembered.ts";

const REMEMBERED = "unread";

/** Maximum number of unread sessions that the browser remembers; the oldest are dropped. */
const MOST = 500;

/** The ids of sessions with a reply that was not seen, oldest first. All tabs share them. */
export const unread = signal<ReadonlySet<string>>(stored());

function stored(): ReadonlySet<string> {
  const ids = recall(REMEMBERED);
  return new Set(Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string" && id.length <= 200).slice(-MOST) : []);
}

/** The storage takes values. Otherwise the marks last until the page is closed. */
let stores = true;

function change(edit: (ids: Set<string>) => void): void {
  const ids = new Set(stores ? stored() : unread.peek());
  edit(ids);
  unread.value = ids;
  stores = remember(REMEMBERED, ids.size > 0 ? [...ids].slice(-MOST) : undefined);
}

/** isSeen reports whether the user sees a session now. */
export const isSeen = (id: string): boolean => {
  const here = route.peek();
  return document.visibilityState === "visible" && here.page === "session" && here.id === id;
};

/** mark marks a session whose reply has ended, unless the user sees it. It reports whether the session is unread. */
export function mark(id: string): boolean {
  if (isSeen(id)) return false;
  change((ids) => {
    ids.delete(id);
    ids.add(id);
  });
  return true;
}

/** seen removes the mark of a session. */
export function seen(id: string): void {
  if (!unread.peek().has(id)) return;
  change((ids) => ids.delete(id));
}

/** followSeen keeps the marks equal to those of other tabs, and removes that of the session that the user sees. */
export function followSeen(): void {
  const look = (): void => {
    const here = route.value;
    if (here.page === "session" && isSeen(here.id)) seen(here.id);
  };
  onChange(REMEMBERED, () => {
    unread.value = stored();
    look();
  });
  addEventListener("visibilitychange", look);
  route.subscribe(look);
}
