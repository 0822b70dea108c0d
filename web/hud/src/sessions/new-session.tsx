import { useState } from "preact/hooks";
import { dialog } from "../dialogs.ts";
import { go, route, sessionAddress } from "../routes.ts";
import { create, folders, sessions } from "../store/sessions.ts";
import { reason } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";

/** The dialog that creates a session in a folder. */
export function NewSession() {
  const [path, setPath] = useState(defaultFolder);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const close = (): void => {
    dialog.value = "";
  };
  const submit = (event: Event): void => {
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
      <form onSubmit={submit}>
        <label class="label" for="new-folder">Folder</label>
        <input id="new-folder" class="field mono" type="text" list="known-folders" autofocus required value={path} placeholder="/home/me/project"
          aria-describedby="new-folder-note" aria-invalid={problem !== ""} onInput={(e) => setPath(e.currentTarget.value)} />
        <datalist id="known-folders">{folders.value.map((f) => <option key={f.path} value={f.path} />)}</datalist>
        <p id="new-folder-note" class={problem === "" ? "note" : "note bad"} role={problem === "" ? undefined : "alert"}>
          {problem || "Absolute path of a folder on the server’s machine. The session can read files in it."}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={close}>Cancel</button>
          <button type="submit" class="button primary" disabled={busy || path.trim() === ""}>Create session</button>
        </div>
      </form>
    </Dialog>
  );
}

/** defaultFolder returns the folder of the open session, otherwise the most recently used folder. */
function defaultFolder(): string {
  const here = route.peek();
  const open = here.page === "session" ? sessions.peek().get(here.id) : undefined;
  return open?.info.cwd ?? folders.peek()[0]?.path ?? "";
}
