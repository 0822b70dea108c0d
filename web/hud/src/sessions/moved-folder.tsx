import { useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { folders } from "../store/sessions.ts";
import { reason, toast } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";

/** A notice that the session's folder does not exist any more, with a button that chooses the new one. */
export function MovedFolder({ view }: { view: SessionView }) {
  const [choosing, setChoosing] = useState(false);
  return (
    <li class="notice-action">
      <span>The folder <code>{view.cwd.value}</code> does not exist any more.</span>
      <button type="button" class="button small" disabled={!isOpen.value} onClick={() => setChoosing(true)}>Choose new folder</button>
      {choosing && <FolderDialog view={view} onClose={() => setChoosing(false)} />}
    </li>
  );
}

function FolderDialog({ view, onClose }: { view: SessionView; onClose: () => void }) {
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
        <input id="moved-folder" class="field mono" type="text" list="moved-folders" autofocus required value={path}
          aria-describedby="moved-folder-note" aria-invalid={problem !== ""} onInput={(e) => setPath(e.currentTarget.value)} />
        <datalist id="moved-folders">{folders.value.map((f) => <option key={f.path} value={f.path} />)}</datalist>
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
