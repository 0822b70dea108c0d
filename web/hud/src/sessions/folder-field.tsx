import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Cut } from "../ui/cut.tsx";
import { completed, inside, useFolderChoices } from "./folder-choices.ts";

interface FolderFieldProps {
  id: string;
  path: string;
  /** Recently used folders, most recent first. */
  recent: readonly string[];
  describedBy: string;
  invalid: boolean;
  onPath: (path: string) => void;
}

/** A field for a folder on the server's machine, with recent folders and completion. Tab takes the marked folder, or what all agree on, and goes on in it. */
export function FolderField({ id, path, recent, describedBy, invalid, onPath }: FolderFieldProps) {
  const [typed, setTyped] = useState(false);
  const [marked, setMarked] = useState({ of: "", at: -1 });
  const waiting = useRef(""); // the path for which Tab was pressed before the folders were known
  const { folders, note, waits } = useFolderChoices(path, typed, recent);
  const at = marked.of === path ? Math.min(marked.at, folders.length - 1) : -1;
  const option = (i: number): string => `${id}-choice-${i}`;
  useEffect(() => document.getElementById(option(at))?.scrollIntoView({ block: "nearest" }), [at]);

  const take = (folder: string, goOn: boolean): void => {
    setTyped(goOn);
    onPath(goOn ? inside(folder) : folder);
  };
  /** complete reports whether the typed path was completed, or will be. */
  const complete = (): boolean => {
    const next = completed(path, folders);
    if (waits) waiting.current = path;
    else if (next !== "") onPath(next);
    return waits || next !== "";
  };
  useEffect(() => {
    if (waits) return;
    const wanted = waiting.current === path && path !== "";
    waiting.current = "";
    if (wanted) complete();
  }, [waits, path]);
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const folder = folders[at];
    if (step !== 0 && folders.length > 0) setMarked({ of: path, at: Math.max(-1, Math.min(at + step, folders.length - 1)) });
    else if (folder !== undefined && event.key === "Tab") take(folder, true);
    else if (folder !== undefined && event.key === "Enter") take(folder, false);
    else if (event.key !== "Tab" || !typed || !complete()) return;
    event.preventDefault();
  };
  return (
    <>
      <input id={id} class="field mono" type="text" autofocus required autocomplete="off" spellcheck={false} value={path} placeholder="/home/me/project"
        role="combobox" aria-autocomplete="list" aria-expanded={folders.length > 0} aria-controls={`${id}-choices`} aria-activedescendant={at >= 0 ? option(at) : undefined}
        aria-describedby={describedBy} aria-invalid={invalid} onKeyDown={keys}
        onInput={(e) => { setTyped(true); onPath(e.currentTarget.value); }} />
      <ul id={`${id}-choices`} class={folders.length > 0 ? "folder-choices" : "hidden"} role="listbox" aria-label={typed ? "Folders" : "Recent folders"}>
        {folders.map((folder, i) => (
          <li key={folder} id={option(i)} role="option" aria-selected={i === at} title={folder}
            onMouseDown={(e) => { e.preventDefault(); take(folder, typed); }}><bdi class="cut mono"><Cut text={folder} /></bdi></li>
        ))}
      </ul>
      {note !== "" && <p class="note" role="status">{note}</p>}
    </>
  );
}
