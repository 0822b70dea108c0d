import { go, route, sessionAddress } from "../routes.ts";
import { call, isOpen, offers } from "../store/connection.ts";
import { discard } from "../store/sessions.ts";
import { failed, toast } from "../store/toasts.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { naming, type Place } from "./naming.tsx";

/** The actions on a session, for the title bar and for the menu of its row. */
export function actionsOn(id: string, title: string, at: Place): MenuItem[] {
  const disabled = !isOpen.value;
  const actions: (MenuItem | false)[] = [
    { label: "Rename session", icon: "edit", shortcut: "F2", disabled, run: () => (naming.value = { id, at }) },
    offers("_strata/session/fork") && { label: "Fork session", icon: "fork", disabled, run: () => fork(id) },
    { label: "Export session", icon: "download", disabled, run: () => exportIt(id, title) },
    { label: "Delete session", icon: "trash", disabled, run: () => remove(id, title) },
  ];
  return actions.filter((action) => action !== false);
}

function fork(sessionId: string): void {
  call("_strata/session/fork", { sessionId }).then(
    (made) => {
      toast("Session forked. The original is unchanged.");
      go(sessionAddress(made.sessionId));
    },
    failed("Cannot fork the session"),
  );
}

function exportIt(id: string, title: string): void {
  import("./parts.ts").then((m) => m.exportSession(id, title)).catch(failed("Cannot export the session"));
}

function remove(id: string, title: string): void {
  discard(id, title).then(() => {
    const here = route.peek();
    if (here.page === "session" && here.id === id) go("#/");
  }, failed("Cannot delete the session"));
}
