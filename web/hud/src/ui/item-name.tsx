import { useEffect } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { messageOf, nameOf } from "../text/items.ts";
import { CopyButton } from "./controls.tsx";
import { Cut } from "./cut.tsx";
import { Hit } from "./filter.tsx";

/** The name of an item of a request. Its key is shown on hover and can be copied, unless the name says it. */
export function ItemName({ view, of, filter = "" }: { view: SessionView; of: string; filter?: string }) {
  const { what, words, path } = nameOf(of, view.labels.of.value);
  const id = messageOf(of);
  const missing = id !== "" && !view.labels.of.value.has(id);
  useEffect(() => {
    if (missing) void view.labels.want(id);
  }, [view, id, missing]);
  const kind = what !== "" && <span class={words === "" ? "" : "quiet"}>{what}{words !== "" && !path && ":"} </span>;
  if (path) return <span class="item-name" title={of}>{kind}<code class="entry-key cut"><Cut text={words} filter={filter} /></code></span>;
  return (
    <span class="item-name" title={of}>
      <span class="entry-label">{kind}<bdi><Hit text={words} filter={filter} /></bdi></span>
      {(id !== "" || of.startsWith("summary:")) && <span class="item-copy"><CopyButton text={() => of} label="Copy id" /></span>}
    </span>
  );
}
