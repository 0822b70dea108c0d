import { useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { later } from "../ui/later.tsx";

const FolderDialog = later(() => import("./parts.ts").then((m) => m.FolderDialog));

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
