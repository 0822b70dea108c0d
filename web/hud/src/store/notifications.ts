import { go, sessionAddress } from "../routes.ts";
import { setting } from "./remembered.ts";
import { isSeen, unread } from "./unread.ts";

/** Time in which another tab that shows the session removes its mark, in milliseconds. */
const OTHER_TABS_MS = 500;

/** Whether the user wants notifications of replies and questions in sessions that are not in view. */
export const wanted = setting<boolean>("notifications", false);

const api = (): typeof Notification | undefined => (globalThis as { Notification?: typeof Notification }).Notification;

/** canNotify reports whether the browser has notifications and the user has not blocked them. */
export const canNotify = (): boolean => (api()?.permission ?? "denied") !== "denied";

/** choose turns notifications on or off. The first time, the browser asks the user: only an action of the user may call it. */
export async function choose(on: boolean): Promise<void> {
  wanted.value = on && (await api()?.requestPermission()) === "granted";
}

/** notify shows a notification about a session that the user does not see. Those of one session replace each other. */
export function notify(id: string, title: string, text: string, isDue: () => boolean = () => unread.peek().has(id)): void {
  const Shown = api();
  if (!wanted.peek() || !Shown || Shown.permission !== "granted") return;
  setTimeout(() => {
    if (isSeen(id) || !isDue()) return;
    try {
      const shown = new Shown(title, { body: text, tag: `strata ${id}` });
      shown.onclick = () => {
        focus();
        go(sessionAddress(id));
        shown.close();
      };
    } catch {
      // some browsers offer notifications only to service workers
    }
  }, OTHER_TABS_MS);
}
