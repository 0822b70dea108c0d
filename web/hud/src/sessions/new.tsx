import { useState } from "preact/hooks";
import { dialog } from "../dialogs.ts";
import { go, route, sessionAddress } from "../routes.ts";
import { create, folders, sessions } from "../store/sessions.ts";
import { reason } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";

/** Begins a session in a folder. */
export function NewSession() {
  const [path, setPath] = useState(folderAtHand);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const close = (): void => {
    dialog.value = "";
  };
  const begin = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    create(path.trim()).then(
      (id) => {
        close();
        go(sessionAddress(id));
        requestAnimationFrame(() => document.getElementById("prompt")?.focus());
      },
      (error: unknown) => {
        setProblem(reason(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title="New session" onClose={close}>
      <form onSubmit={begin}>
        <label class="label" for="new-folder">Folder</label>
        <input id="new-folder" class="field mono" type="text" list="known-folders" autofocus required value={path} placeholder="/home/me/project"
          aria-describedby="new-folder-note" aria-invalid={problem !== ""} onInput={(e) => setPath(e.currentTarget.value)} />
        <datalist id="known-folders">{folders.value.map((f) => <option key={f.path} value={f.path} />)}</datalist>
        <p id="new-folder-note" class={problem === "" ? "note" : "note bad"} role={problem === "" ? undefined : "alert"}>
          {problem || "The absolute path of a folder of the server’s machine. The session may read files below it."}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={close}>Cancel</button>
          <button type="submit" class="button primary" disabled={busy || path.trim() === ""}>Begin</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The folder of the session that is open, or the one used last. */
function folderAtHand(): string {
  const here = route.peek();
  const open = here.page === "session" ? sessions.peek().get(here.id) : undefined;
  return open?.info.cwd ?? folders.peek()[0]?.path ?? "";
}
