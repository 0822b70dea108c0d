import "../app.tsx"; // the build then keeps the first load in one file
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Row } from "../conversation/rows.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import type { Entry } from "../store/transcript.ts";
import { count } from "../text/format.ts";
import { IconButton } from "../ui/controls.tsx";
import { isComposing } from "../ui/sending.ts";
import { Marks } from "./marks.ts";
import { endFind, finding } from "./open.ts";
import { indexFrom, locate, matchAt, partsOf } from "./places.ts";
import { Search } from "./search.ts";
import { fold } from "./text.ts";

export interface FindBarProps {
  view: SessionView;
  rows: readonly Row[];
  /** Expands what hides a message, and further parts. */
  reveal: (entry: Entry, parts: readonly string[]) => void;
  /** Scrolls to a row, which then shows all of its content. */
  show: (key: string) => void;
}

/** The bar to find a text in all messages of the session. */
export function FindBar({ view, rows, reveal, show }: FindBarProps) {
  const field = useRef<HTMLInputElement>(null);
  const search = useMemo(() => new Search(view), [view]);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  /** The match to show; a new object shows it again. */
  const [wanted, setWanted] = useState<{ entry: Entry; index: number } | null>(null);
  const marks = useMarks();
  const phrase = fold(search.text.value);
  const total = search.total.value;

  const goTo = (index: number): void => {
    const match = matchAt(search.places.peek(), index);
    if (!match) return;
    setAt(index);
    view.transcript.show(match.place.seq).then(() => {
      const entry = view.transcript.entries.peek().find((e) => e.message.seq === match.place.seq);
      if (!entry) return;
      reveal(entry, partsOf(entry, match.place));
      setWanted({ entry, index });
    }, failed("Cannot load the message"));
  };
  const move = (step: number): void => {
    if (total > 0) goTo((at + step + total) % total);
  };
  const type = (typed: string): void => {
    setText(typed);
    const seq = matchAt(search.places.peek(), at)?.place.seq ?? firstInView(rows);
    setWanted(null);
    search.find(typed, () => goTo(indexFrom(search.places.peek(), seq)));
  };

  useShown(wanted, () => {
    const match = wanted && matchAt(search.places.peek(), wanted.index);
    const row = match && locate(rows, view.transcript.results.peek(), wanted.entry, match, phrase);
    if (!row) return false;
    show(row.key);
    marks.current?.show(phrase, row);
    marks.current?.bring();
    return true;
  });
  useEffect(() => marks.current?.show(phrase, null), [phrase]);
  useNewMessages(view, () => search.find(text, () => {}));
  useEffect(() => () => search.close(), [search]);
  useFocus(field);
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      if (event.key !== "F3" || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(event.shiftKey ? -1 : 1);
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });

  const keys = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    if (event.key === "Escape") {
      event.stopPropagation();
      endFind();
    } else if (event.key === "Enter" && event.target === field.current && !isComposing(event)) {
      event.preventDefault();
      move(event.shiftKey ? -1 : 1);
    }
  };
  return (
    <div class="find" role="search" aria-label="Find in session" onKeyDown={keys}>
      <input ref={field} id="find" type="text" dir="auto" placeholder="Find in session" aria-label="Find in session" maxLength={250} value={text} onInput={(e) => type(e.currentTarget.value)} />
      <span class={search.problem.value === "" ? "find-state" : "find-state bad"} role="status">{search.problem.value || state(search, at)}</span>
      <IconButton icon="up" label="Previous match (Shift+Enter)" disabled={total === 0} onClick={() => move(-1)} />
      <IconButton icon="down" label="Next match (Enter)" disabled={total === 0} onClick={() => move(1)} />
      <IconButton icon="close" label="Close (Esc)" onClick={endFind} />
    </div>
  );
}

function state(search: Search, at: number): string {
  if (search.text.value.trim() === "") return "";
  const total = search.total.value;
  if (total === 0) return search.complete.value ? "No matches" : "Searching";
  return `${count(at + 1)} of ${count(total)}${search.complete.value ? "" : "+"}`;
}

/** firstInView returns the sequence number of the first message in view. */
function firstInView(rows: readonly Row[]): number {
  const top = document.querySelector(".transcript")?.getBoundingClientRect().top ?? 0;
  const first = [...document.querySelectorAll<HTMLElement>(".transcript .window-row")].find((e) => e.getBoundingClientRect().bottom > top + 1);
  const row = rows.find((r) => r.key === first?.dataset["key"]);
  return row && row.kind !== "summary" ? row.entry.message.seq : 0;
}

function useMarks() {
  const marks = useRef<Marks | null>(null);
  useLayoutEffect(() => {
    const list = document.querySelector(".transcript");
    if (list) marks.current = new Marks(list);
    return () => marks.current?.close();
  }, []);
  return marks;
}

/** useShown calls show after each redraw until it succeeds, once for each value. */
function useShown(wanted: object | null, show: () => boolean): void {
  const shown = useRef<object | null>(null);
  useEffect(() => {
    if (wanted && wanted !== shown.current && show()) shown.current = wanted;
  });
}

/** useNewMessages calls changed when messages were added at the end of the session. */
function useNewMessages(view: SessionView, changed: () => void): void {
  const newest = view.transcript.entries.value.at(-1)?.message.seq ?? 0;
  const seen = useRef(newest);
  useEffect(() => {
    if (newest > seen.current && !view.transcript.newer.peek()) changed();
    seen.current = Math.max(seen.current, newest);
  }, [newest]);
}

/** useFocus focuses the field each time that the bar is asked for, and returns the focus at the end. */
function useFocus(field: { current: HTMLInputElement | null }): void {
  const { asked } = finding.value;
  useLayoutEffect(() => {
    const before = document.activeElement;
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [asked]);
}
