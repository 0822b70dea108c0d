import { useEffect, useState } from "preact/hooks";
import { editorOf, type Mention, type MentionKind } from "../store/editor.ts";

/** The mentions of the editor that match a query. */
export interface FoundMentions {
  /** The query of the mentions, undefined before the first answer. */
  query: string | undefined;
  mentions: readonly Mention[];
}

const NONE: FoundMentions = { query: undefined, mentions: [] };

/** useFoundMentions finds things of one kind in the editor; undefined for no query. Without an editor, there are none. */
export function useFoundMentions(kind: MentionKind, query: string | undefined): FoundMentions {
  const [found, setFound] = useState(NONE);
  useEffect(() => {
    const editor = editorOf();
    if (query === undefined || !editor) return setFound(NONE);
    let left = false;
    const set = (mentions: readonly Mention[]): void => {
      if (!left) setFound({ query, mentions });
    };
    editor.mentions(kind, query).then(set, () => set([])); // the files can be mentioned without them
    return () => {
      left = true;
    };
  }, [kind, query]);
  return found;
}
