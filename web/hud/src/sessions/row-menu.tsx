import { useCallback } from "preact/hooks";
import { sessions, titleOf } from "../store/sessions.ts";
import { Menu } from "../ui/menu.tsx";
import { actionsOn } from "./actions.ts";
import { linkOf } from "./focus.ts";
import { openMenu } from "./row.tsx";

/** The menu of the row that asks for one. */
export function RowMenu() {
  const open = openMenu.value;
  const info = open ? sessions.value.get(open.id)?.info : undefined;
  const close = useCallback((): void => {
    const id = openMenu.peek()?.id ?? "";
    openMenu.value = null;
    linkOf(id)?.focus();
  }, []);
  if (!open || !info) return null;
  return <Menu key={open.id} label={`Actions of ${titleOf(info)}`} items={actionsOn(open.id, titleOf(info), "row")} x={open.x} y={open.y} onClose={close} />;
}
