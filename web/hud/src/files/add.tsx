import { useEffect, useRef, useState } from "preact/hooks";
import { FilePicker } from "../conversation/files.tsx";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, reason, toast } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";

/** Finds a file of the workspace and takes it in. */
export function AddFile({ view }: { view: SessionView }) {
  const [picking, setPicking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setPicking(false);
    if (document.activeElement === document.body || document.activeElement?.closest(".picker")) button.current?.focus();
  };
  const add = (path: string): void => {
    close();
    view.call("_strata/files/add", { path }).then(
      (file) => toast(`${file.path} was taken in.`), failed(`${path} could not be taken in`));
  };
  return (
    <span class="add-file">
      <button ref={button} type="button" class="button small" id="add-file" aria-expanded={picking} disabled={!isOpen.value} onClick={() => setPicking(!picking)}>Add a file</button>
      {picking && <FilePicker view={view} onPick={add} onClose={close} />}
    </span>
  );
}

/** Opens a form that sets a document: a named text that every request holds. */
export function AddDocument({ view }: { view: SessionView }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button small" id="add-document" disabled={!isOpen.value} onClick={() => setOpen(true)}>Set a document</button>
      {open && <DocumentForm view={view} onClose={() => setOpen(false)} />}
    </>
  );
}

function DocumentForm({ view, onClose }: { view: SessionView; onClose: () => void }) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const [pinned, setPinned] = useState(false);
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (): void => {
    view.call("_strata/documents/set", { name: name.trim(), text, pinned }).then(
      (made) => {
        view.documents.changed();
        toast(`The document ${made.name} is set.`);
        onClose();
      },
      (error: unknown) => setProblem(reason(error)),
    );
  };
  return (
    <Dialog title="Set a document" onClose={onClose}>
      <form class="document-form" onSubmit={(e) => { e.preventDefault(); save(); }}>
        <label><span class="label">Name</span><input class="field" ref={field} type="text" value={name} placeholder="rules, design, facts" onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label><span class="label">Text</span><textarea class="field" rows={10} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
        <label class="check"><input type="checkbox" checked={pinned} onChange={(e) => setPinned(e.currentTarget.checked)} /> Never leave it out when the window is full</label>
        {problem !== "" && <p class="note bad" role="alert">{problem}</p>}
        <p class="note">A document of that name is replaced.</p>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="button primary" disabled={name.trim() === "" || text === ""}>Set</button>
        </footer>
      </form>
    </Dialog>
  );
}
