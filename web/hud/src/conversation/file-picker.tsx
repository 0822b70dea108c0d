import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";

interface PickerProps {
  view: SessionView;
  onPick: (path: string) => void;
  onClose: () => void;
}

/** Maximum number of suggested paths. */
const MAX_SUGGESTIONS = 12;

/** A field that finds a file of the workspace by a few letters of its path. */
export function FilePicker({ view, onPick, onClose }: PickerProps) {
  const [query, setQuery] = useState("");
  const [paths, setPaths] = useState<readonly string[] | null>(null);
  const [problem, setProblem] = useState("");
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    const stop = new AbortController();
    view.call("_strata/workspace/find", { query, limit: MAX_SUGGESTIONS }, { signal: stop.signal }).then(
      (found) => {
        if (stop.signal.aborted) return;
        setPaths(found.paths.map((p) => p.path));
        setProblem("");
        setChosen(0);
      },
      (error: Error) => {
        if (!stop.signal.aborted) setProblem(error.message);
      },
    );
    return () => stop.abort();
  }, [query]);

  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const many = paths?.length ?? 0;
    const path = paths?.[chosen];
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
        {paths?.map((path, i) => (
          <li key={path} id={`picked-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(e) => { e.preventDefault(); onPick(path); }}>
            {path}
          </li>
        ))}
        {paths?.length === 0 && <li class="quiet">No matching files</li>}
        {problem !== "" && <li class="bad">{problem}</li>}
      </ul>
      <input ref={field} class="field" type="text" role="combobox" aria-label="Find file" aria-expanded="true" aria-controls="picker-list"
        aria-activedescendant={paths && paths.length > 0 ? `picked-${chosen}` : undefined} placeholder="Find a file by a few letters"
        value={query} onInput={(e) => setQuery(e.currentTarget.value)} onKeyDown={keys} onBlur={onClose} />
    </div>
  );
}
