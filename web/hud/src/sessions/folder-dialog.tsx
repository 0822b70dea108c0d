import { useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { diskFolders } from "../store/sessions.ts";
import { reason, toast } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";
import { FolderField } from "./folder-field.tsx";

/** The dialog that moves a session to another folder. */
export function FolderDialog({ view, onClose }: { view: SessionView; onClose: () => void }) {
  const [path, setPath] = useState(view.cwd.peek());
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    view.move(path.trim()).then(
      () => {
        onClose();
        toast("Session moved to the new folder.");
      },
      (error: unknown) => {
        setProblem(reason(error));
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title="New folder of the session" onClose={onClose}>
      <form onSubmit={submit}>
        <label class="label" for="moved-folder">Folder</label>
        <FolderField id="moved-folder" path={path} recent={diskFolders.value} describedBy="moved-folder-note" invalid={problem !== ""} onPath={setPath} />
        <p id="moved-folder-note" class={problem === "" ? "note" : "note bad"} role={problem === "" ? undefined : "alert"}>
          {problem || "Absolute path of the folder on the server’s machine. Files of the session are looked up in it by their relative paths."}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="button primary" disabled={busy || path.trim() === ""}>Move session</button>
        </div>
      </form>
    </Dialog>
  );
}
