import { useEffect, useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";

/** Maximum number of suggested paths. */
const MAX_SUGGESTIONS = 12;

/** The paths of the workspace that match a query, best first. */
export interface FoundPaths {
  /** The query of the paths: until it is answered, that before. undefined before the first answer. */
  query: string | undefined;
  paths: readonly string[];
  /** Why there are none, "" if the query was answered. */
  problem: string;
}

const NONE: FoundPaths = { query: undefined, paths: [], problem: "" };

/** useFoundPaths finds files by a few letters of their paths; undefined for no query. */
export function useFoundPaths(view: SessionView, query: string | undefined): FoundPaths {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    if (query === undefined) return setFound(NONE);
    const stop = new AbortController();
    const set = (answer: FoundPaths): void => {
      if (!stop.signal.aborted) setFound(answer);
    };
    view.call("_strata/workspace/find", { query, limit: MAX_SUGGESTIONS }, { signal: stop.signal }).then(
      ({ paths }) => set({ query, paths: paths.map((p) => p.path), problem: "" }),
      (error: Error) => set({ query, paths: [], problem: error.message }),
    );
    return () => stop.abort();
  }, [view, query]);
  return found;
}
