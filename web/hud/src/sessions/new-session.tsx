import { useState } from "preact/hooks";
import { dialog } from "../dialogs.ts";
import { go, route, sessionAddress } from "../routes.ts";
import { recall, remember } from "../store/remembered.ts";
import { info } from "../store/server.ts";
import { create, diskFolders, isHeld, sessions } from "../store/sessions.ts";
import { reason } from "../store/toasts.ts";
import { Dialog } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { FolderField } from "./folder-field.tsx";
import { ModelField } from "./model-field.tsx";

const REMEMBERED = "new-session";

/** The dialog that creates a session in a folder, with a model. */
export function NewSession() {
  const server = useFetched(info);
  const [last] = useState(lastChoice);
  const [path, setPath] = useState(() => defaultFolder(last.folder));
  const [chosen, setChosen] = useState(last.model);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const models = server?.models ?? [];
  const model = models.some((m) => m.name === chosen) ? chosen : server?.model ?? ""; // not listed if it is not in the catalogue
  const close = (): void => {
    dialog.value = "";
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    const folder = path.trim();
    create(folder, model).then(
      (id) => {
        remember(REMEMBERED, { folder, model });
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
        <FolderField id="new-folder" path={path} recent={diskFolders.value} describedBy="new-folder-note" invalid={problem !== ""} onPath={setPath} />
        <p id="new-folder-note" class={problem === "" ? "note" : "note bad"} role={problem === "" ? undefined : "alert"}>
          {problem || "A folder on the server’s machine. The session can read files in it. Tab completes."}
        </p>
        {model !== "" && <ModelField models={models} chosen={model} onChoose={setChosen} />}
        <div class="dialog-foot">
          <button type="button" class="button" onClick={close}>Cancel</button>
          <button type="submit" class="button primary" disabled={busy || path.trim() === ""}>Create session</button>
        </div>
      </form>
    </Dialog>
  );
}

/** lastChoice returns the last choices in this browser; "" for what was not chosen. */
function lastChoice(): { folder: string; model: string } {
  const stored = recall(REMEMBERED);
  const { folder, model } = typeof stored === "object" && stored !== null ? (stored as Record<string, unknown>) : {};
  return { folder: typeof folder === "string" ? folder : "", model: typeof model === "string" ? model : "" };
}

/** defaultFolder returns the folder of the open session, otherwise the last one, otherwise the most recently used one. */
function defaultFolder(last: string): string {
  const here = route.peek();
  const open = here.page === "session" ? sessions.peek().get(here.id) : undefined;
  const inside = open && !isHeld(open.info) ? open.info.cwd : undefined;
  return inside ?? (last || (diskFolders.peek()[0] ?? ""));
}
