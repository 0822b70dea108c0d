import type { ComponentChildren } from "preact";
import { parts, positions } from "../text/fuzzy.ts";

/** Characters at the end of a long text that stay visible: those of the name, if that is short. */
const TAIL = 18;
const MAX_NAME = 26;

/** Texts up to this length are not divided. */
const SHORT = 30;

/** tailOf returns the end of a path that stays visible: its name, or the end of a long name. */
export function tailOf(path: string): string {
  if (path.length <= SHORT) return path;
  const name = /[^\\/]*[\\/]?$/.exec(path)?.[0] ?? "";
  if (name.length >= TAIL / 2 && name.length <= MAX_NAME) return name;
  return path.slice(-TAIL).replace(/^[\udc00-\udfff\p{M}\u200d]+/u, "");
}

/** columns returns the maximum width of a text in digits. */
const columns = (text: string): number => [...text].reduce((sum, c) => sum + (c > "\u10ff" ? 2 : 1), 0);

/**
 * A path or a name that is cut in its middle if it is too wide for the element around it, which has the class `cut`. The
 * letters that match a filter (optional) are marked.
 */
export function Cut({ text, filter = "" }: { text: string; filter?: string }) {
  const hits = filter === "" ? [] : positions(filter, text) ?? [];
  const tail = tailOf(text);
  const at = text.length - tail.length;
  const end = <Marked text={tail} hits={hits.map((i) => i - at)} />;
  if (at === 0) return end;
  return <><span class="cut-start" style={{ maxWidth: `calc(100% - ${columns(tail)}ch)` }}><Marked text={text.slice(0, at)} hits={hits} /></span>{end}</>;
}

function Marked({ text, hits }: { text: string; hits: readonly number[] }): ComponentChildren {
  return hits.length === 0 ? text : parts(text, hits).map((p, i) => (p.hit ? <mark key={i}>{p.text}</mark> : p.text));
}
