import { useCallback } from "preact/hooks";
import { sessions, titleOf } from "../store/sessions.ts";
import { Menu } from "../ui/menu.tsx";
import { actionsOn } from "./actions.ts";
import { linkOf, openMenu } from "./row.tsx";

/** The menu of the row that asks for one. */
export function RowMenu() {
  const open = openMenu.value;
  const info = open ? sessions.value.get(open.id)?.info : undefined;
  const close = useCallback((chosen: boolean): void => {
    const id = openMenu.peek()?.id ?? "";
    openMenu.value = null;
    const link = linkOf(id);
    link?.focus();
    if (chosen && link) keepFocus(link);
  }, []);
  if (!open || !info) return null;
  return <Menu key={open.id} label={`Actions of ${titleOf(info)}`} items={actionsOn(open.id, titleOf(info), "row")} x={open.x} y={open.y} onClose={close} />;
}

/** keepFocus moves the focus from a row to the next one if the row is removed, otherwise it would be lost. */
function keepFocus(link: HTMLElement): void {
  const all = [...document.querySelectorAll<HTMLElement>(".sidebar .line a")];
  const at = all.indexOf(link);
  const next = all[at + 1] ?? all[at - 1];
  const list = link.closest(".window");
  if (!list) return;
  const observer = new MutationObserver(() => {
    if (link.isConnected) return;
    observer.disconnect();
    if (document.activeElement === document.body) (next?.isConnected ? next : document.getElementById("search"))?.focus();
  });
  observer.observe(list, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), 10_000);
}
