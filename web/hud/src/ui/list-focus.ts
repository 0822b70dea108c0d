import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { nextStop, onStep } from "./steps.ts";

interface Keyed {
  key: string;
}

interface ListFocus<R extends Keyed> {
  scroller: { current: HTMLElement | null };
  rows: readonly R[];
  sticky: boolean;
  stops: (row: R) => boolean;
  /** Scrolls to a row. */
  jump: (key: string) => void;
  /** The list follows new rows. */
  atEnd: () => boolean;
  /** The index of the row at the upper edge. */
  atTop: () => number;
}

/** focusableIn returns the element of a row that has the focus for the row: a message, otherwise its first control. */
const focusableIn = (row: Element | null | undefined): HTMLElement | null => row?.querySelector<HTMLElement>("[data-message], a[href], button, [tabindex]") ?? null;

/**
 * useListFocus moves the focus to rows that may not be drawn. It keeps the focus on a row that moves, in the list when its row is
 * no longer drawn, and at its place when the row is removed.
 */
export function useListFocus<R extends Keyed>(list: ListFocus<R>): void {
  const now = useRef(list);
  now.current = list;
  const wanted = useRef("");
  const held = useRef("");
  const place = useRef(0); // index of the held row
  const element = (key: string): Element | null => list.scroller.current?.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? null;

  useEffect(() => {
    const scroller = list.scroller.current;
    if (!scroller) return;
    const hold = (event: FocusEvent): void => {
      held.current = event.target instanceof Element ? (event.target.closest<HTMLElement>("[data-key]")?.dataset["key"] ?? "") : "";
    };
    const leave = (event: FocusEvent): void => {
      if (event.relatedTarget instanceof Element) held.current = ""; // a row that moves or is no longer drawn loses the focus to nothing
    };
    const point = (event: PointerEvent): void => {
      if (event.target instanceof Node && !scroller.contains(event.target)) held.current = ""; // a click elsewhere takes the focus, maybe to nothing
    };
    scroller.addEventListener("focusin", hold);
    scroller.addEventListener("focusout", leave);
    document.addEventListener("pointerdown", point);
    const end = onStep(scroller, (by) => {
      const { rows, jump } = now.current;
      const to = destination(now.current, element(held.current) ? held.current : "", by, document.activeElement === scroller);
      const key = to === undefined ? undefined : rows[to]?.key;
      if (key === undefined) return false;
      const target = focusableIn(element(key));
      if (target && isInside(target, scroller)) {
        target.focus({ preventScroll: true });
        target.scrollIntoView({ block: "nearest" });
      } else {
        wanted.current = key;
        jump(key);
      }
      return true;
    });
    return () => {
      end();
      scroller.removeEventListener("focusin", hold);
      scroller.removeEventListener("focusout", leave);
      document.removeEventListener("pointerdown", point);
    };
  }, []);

  useLayoutEffect(() => {
    if (held.current !== "") {
      const at = list.rows.findIndex((row) => row.key === held.current);
      if (at >= 0) place.current = at;
      if (document.activeElement === document.body) {
        const row = list.rows[at < 0 ? Math.min(place.current, list.rows.length - 1) : at];
        (focusableIn(row && element(row.key)) ?? list.scroller.current)?.focus({ preventScroll: true });
      }
    }
    const target = wanted.current === "" ? null : focusableIn(element(wanted.current));
    if (!target) return;
    wanted.current = "";
    target.focus({ preventScroll: true });
  });
}

/**
 * destination returns the index of the row to which a step leads, undefined for none. It counts from the focused row, without
 * one from the upper edge. The first step into a list leads to its first row, or to the newest one of a list that follows it.
 */
function destination<R extends Keyed>({ rows, sticky, stops, atEnd, atTop }: ListFocus<R>, focused: string, by: number, inside: boolean): number | undefined {
  const at = focused === "" ? -1 : rows.findIndex((row) => row.key === focused);
  if (at >= 0) return nextStop(rows, at, by, stops);
  if (inside || (sticky && !atEnd())) return nextStop(rows, by > 0 ? atTop() : atTop() + 1, by, stops);
  return sticky ? nextStop(rows, rows.length, -1, stops) : nextStop(rows, -1, 1, stops);
}

/** Pixels beyond the edges that count as inside. */
const NEAR = 40;

function isInside(element: Element, around: Element): boolean {
  const [e, a] = [element.getBoundingClientRect(), around.getBoundingClientRect()];
  return e.bottom > a.top - NEAR && e.top < a.bottom + NEAR;
}
