import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { isComposing } from "../ui/sending.ts";
import { Cut } from "../ui/cut.tsx";
import { useFoundPaths } from "./found-paths.ts";

interface PickerProps {
  view: SessionView;
  onPick: (path: string) => void;
  onClose: () => void;
}

/** A field that finds a file of the workspace by a few letters of its path. */
export function FilePicker({ view, onPick, onClose }: PickerProps) {
  const [query, setQuery] = useState("");
  const { query: answered, paths, problem } = useFoundPaths(view, query);
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => setChosen(0), [answered]);

  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (isComposing(event)) return;
    const many = paths.length;
    const path = paths[chosen];
    if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, many - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
    else if ((event.key === "Enter" || event.key === "Tab") && path !== undefined) onPick(path);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="picker">
      <ul class="picker-list" role="listbox" id="picker-list" aria-label="Files">
        {paths.map((path, i) => (
          <li key={path} id={`picked-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(e) => { e.preventDefault(); onPick(path); }}>
            <bdi class="cut" title={path}><Cut text={path} /></bdi>
          </li>
        ))}
        {answered !== undefined && paths.length === 0 && problem === "" && <li class="quiet">No matching files</li>}
        {problem !== "" && <li class="bad">{problem}</li>}
      </ul>
      <input ref={field} class="field" type="text" role="combobox" aria-label="Find file" aria-expanded="true" aria-controls="picker-list"
        aria-activedescendant={paths.length > 0 ? `picked-${chosen}` : undefined} placeholder="Find a file by a few letters"
        value={query} onInput={(e) => setQuery(e.currentTarget.value)} onKeyDown={keys} onBlur={onClose} />
    </div>
  );
}
