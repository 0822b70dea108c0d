import { signal } from "@preact/signals";
import type { TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { route, sessionAddress } from "../routes.ts";
import { isOpen } from "../store/connection.ts";
import { questionsOf } from "../store/questions.ts";
import { asks, titleOf, type Listed } from "../store/sessions.ts";
import { unread } from "../store/unread.ts";
import { fully, when } from "../text/format.ts";
import { Icon } from "../ui/icons.tsx";
import { later } from "../ui/later.tsx";
import { linkOf } from "./focus.ts";
import { isNaming, naming, TitleField } from "./naming.tsx";

const states: Record<string, string> = { running: "running", asking: "needs permission", compacting: "compacting", closing: "closing", loading: "loading" };

/** The session whose menu is open, and where in the viewport. */
export const openMenu = signal<{ id: string; x: number; y: number } | null>(null);

/** The menu of a row. */
export const RowMenu = later(() => import("./parts.ts").then((m) => m.RowMenu));

/** A session in the list. F2 renames it; a right click, Shift+F10 or the menu key open its menu. */
export function SessionLine({ listed }: { listed: Listed }) {
  const { info } = listed;
  const id = info.sessionId;
  const title = titleOf(info);
  const here = route.value.page === "session" && route.value.id === id;
  const below = (element: Element): void => {
    const box = element.getBoundingClientRect();
    openMenu.value = { id, x: box.right, y: box.bottom };
  };
  const menu = (event: TargetedMouseEvent<HTMLElement>): void => {
    event.preventDefault();
    if (event.button === 2) openMenu.value = { id, x: event.clientX, y: event.clientY };
    else below(event.currentTarget); // by the keyboard
  };
  const keys = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    if (event.key === "F2" && isOpen.peek()) naming.value = { id, at: "row" };
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) below(event.currentTarget);
    else return;
    event.preventDefault();
  };
  if (isNaming(id, "row")) {
    return <div class="line" role="listitem"><TitleField id={id} title={info.title ?? ""} onDone={() => requestAnimationFrame(() => linkOf(id)?.focus())} /></div>;
  }
  const state = questionsOf(id).length > 0 || asks(listed) ? "asking" : listed.state;
  const isUnread = unread.value.has(id);
  const opened = openMenu.value?.id === id;
  return (
    <div class={`line${here ? " here" : ""}${opened ? " opened" : ""}`} role="listitem" onContextMenu={menu} onKeyDown={keys}>
      <a href={sessionAddress(id)} aria-current={here ? "page" : undefined} aria-keyshortcuts="F2 Shift+F10" data-session={id} title={`${title}\n${fully(info.updatedAt)}`}>
        <span class={state ? "dot live" : isUnread ? "dot unread" : "dot"} aria-hidden="true" />
        <span class={isUnread ? "line-title unread" : "line-title"} dir="auto">{title}{isUnread && <span class="hidden">, unread</span>}</span>
        {state ? <span class="line-state">{states[state] ?? state}</span> : <time class="line-time" dateTime={info.updatedAt}>{when(info.updatedAt)}</time>}
      </a>
      <button type="button" class="icon-button line-menu" tabIndex={-1} aria-label={`Actions of ${title}`} title="Actions" aria-haspopup="menu" aria-expanded={opened}
        onClick={(e) => below(e.currentTarget)}><Icon name="more" /></button>
    </div>
  );
}
