import { useEffect, useRef, useState } from "preact/hooks";
import { FilePicker } from "../conversation/file-picker.tsx";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { reason, toast } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";
import { addFile } from "./actions.ts";

/** A button that adds a file of the workspace to the session. */
export function AddFile({ view }: { view: SessionView }) {
  const [picking, setPicking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setPicking(false);
    if (document.activeElement === document.body || document.activeElement?.closest(".picker")) button.current?.focus();
  };
  const add = (path: string): void => {
    close();
    void addFile(view, path);
  };
  return (
    <span class="add-file">
      <button ref={button} type="button" class="button small" id="add-file" aria-expanded={picking} disabled={!isOpen.value} onClick={() => setPicking(!picking)}>Add file</button>
      {picking && <FilePicker view={view} onPick={add} onClose={close} />}
    </span>
  );
}

/** A button that opens the form for a document, a named text in every request. */
export function AddDocument({ view }: { view: SessionView }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button small" id="add-document" disabled={!isOpen.value} onClick={() => setOpen(true)}>Add document</button>
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
  const replaces = view.documents.value.value?.documents.some((d) => d.name === name.trim()) ?? false;
  const save = (): void => {
    view.call("_strata/documents/set", { name: name.trim(), text, pinned }).then(
      (made) => {
        view.documents.changed();
        toast(`Document ${made.name} saved.`);
        onClose();
      },
      (error: unknown) => setProblem(reason(error)),
    );
  };
  return (
    <Dialog title="Add document" onClose={onClose}>
      <form class="document-form" onSubmit={(e) => { e.preventDefault(); save(); }}>
        <label><span class="label">Name</span><input class="field" ref={field} type="text" value={name} placeholder="rules, design, facts" onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label><span class="label">Text</span><textarea class="field" dir="auto" rows={10} value={text} onInput={(e) => setText(e.currentTarget.value)} /></label>
        <label class="check"><input type="checkbox" checked={pinned} onChange={(e) => setPinned(e.currentTarget.checked)} /> Pinned: never evicted when the window is full</label>
        {problem !== "" && <p class="note bad" role="alert">{problem}</p>}
        {replaces && <p class="note" role="status">Replaces the document {name.trim()}.</p>}
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="button primary" disabled={name.trim() === "" || text === ""}>{replaces ? "Replace document" : "Save document"}</button>
        </footer>
      </form>
    </Dialog>
  );
}
