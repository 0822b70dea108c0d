import { useEffect, useState } from "preact/hooks";
import { call, offers } from "../store/connection.ts";
import { reason } from "../store/toasts.ts";

/** Folders that are offered at once. */
const MAX_OFFERED = 50;
const MAX_RECENT = 8;
/** Time without typing before the server is asked. */
const PAUSE_MS = 120;

/** What can follow a typed path. */
export interface Choices {
  folders: readonly string[];
  /** What the list says besides: there are more, or a problem. */
  note: string;
  /** The server has been asked and has not answered yet. */
  waits: boolean;
}

/**
 * useFolderChoices returns folders for the text of a field: recent ones as long as the user has not typed, then recent ones
 * that contain the text and folders that continue it. The newest text wins.
 */
export function useFolderChoices(text: string, typed: boolean, recent: readonly string[]): Choices {
  const [found, setFound] = useState<{ of: string | undefined; folders: readonly string[]; note: string }>({ of: undefined, folders: [], note: "" });
  const asks = typed && offers("_strata/folders/complete");
  useEffect(() => {
    if (!asks) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call("_strata/folders/complete", { prefix: text, limit: MAX_OFFERED }, { signal: stop.signal }).then(
        ({ folders, more }) => setFound({ of: text, folders, note: more ? "More folders match" : "" }),
        (error: unknown) => {
          if (!stop.signal.aborted) setFound({ of: text, folders: [], note: reason(error) });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, asks]);
  if (!typed) return { folders: recent.slice(0, MAX_RECENT), note: "", waits: false };
  const current = found.of === text ? found : { folders: [], note: "" };
  const known = text === "" ? recent : recent.filter((path) => path !== text && path.toLowerCase().includes(text.toLowerCase()));
  return { folders: [...new Set([...known.slice(0, MAX_RECENT), ...current.folders.filter((path) => path !== text)])], note: current.note, waits: asks && found.of !== text };
}

/** inside returns a path that the folders in a folder continue. */
export function inside(folder: string): string {
  const separator = !folder.startsWith("/") && folder.includes("\\") ? "\\" : "/";
  return folder.endsWith(separator) ? folder : folder + separator;
}

/** completed returns what the Tab key makes of a typed path: the folders that continue it agree on that. "" for nothing. */
export function completed(text: string, folders: readonly string[]): string {
  if (/[\\/]$/.test(text)) return "";
  const continuing = folders.filter((path) => path.toLowerCase().startsWith(text.toLowerCase()));
  const [first = "", ...others] = continuing;
  if (others.length === 0) return first && inside(first);
  let shared = first.length;
  for (const path of others) while (!path.startsWith(first.slice(0, shared))) shared--;
  return shared > text.length ? first.slice(0, shared) : "";
}
