import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { useListFocus } from "./list-focus.ts";
import { useRoving } from "./roving.ts";

export interface Row {
  /** Identifies the row in its list, and stays the same when the row changes. */
  key: string;
}

/** Pixels drawn beyond the edges, and the maximum number of cached heights. */
const OVERSCAN = 600;
const MAX_HEIGHTS = 20_000;
/** Maximum distance from the end, in pixels, that counts as the end. */
const NEAR = 40;
/** Pixels between the upper edge and the row that counts as the row there: a line over the list covers them. */
const UNDER_TOP = 36;
/** Pixels above a row to which the list jumps. */
const HEADROOM = 72;

const always = (): boolean => true;

/** newest returns the newest message among the items of a transcript. */
const newest = (items: readonly HTMLElement[]): HTMLElement | undefined => items.findLast((e) => e.dataset["message"] !== undefined) ?? items.at(-1);

interface VirtualListProps<R extends Row> {
  rows: readonly R[];
  /** Estimated height of a row in pixels, used until the row is measured. */
  estimate: (row: R, width: number) => number;
  draw: (row: R, index: number) => ComponentChildren;
  /** Starts at the end and follows new rows until the user scrolls away. */
  sticky?: boolean;
  /** A new number scrolls to the end, and follows new rows as `sticky` does. */
  toEnd?: number;
  /** The row to scroll to, by default to a place below the upper edge. A new object scrolls again. */
  target?: { key: string; delta?: number } | null | undefined;
  onNearTop?: (() => void) | undefined;
  onNearEnd?: (() => void) | undefined;
  onEnd?: ((atEnd: boolean) => void) | undefined;
  /** The rows to which `step` moves the focus; by default all. */
  stops?: (row: R) => boolean;
  /** Is called after scrolling with the row at the upper edge and the pixels from its top to the edge; with null at the end. */
  onPlace?: ((place: { row: R; delta: number } | null) => void) | undefined;
  /** Is called with the row at the upper edge, when it changes. */
  onTop?: ((row: R) => void) | undefined;
  class?: string;
  /** Without focusable elements in its rows, the list can have the focus, so that the arrow keys scroll. */
  focusable?: boolean;
  role?: "log" | "tree" | "list";
  label: string;
}

/** Layout holds the position of each row of one list. */
class Layout {
  private readonly heights = new Map<string, number>();
  private readonly index = new Map<string, number>();
  private rows: readonly Row[] = [];
  private offsets: number[] = [0];
  /** Index of the first row whose position is outdated. */
  private dirty = 0;
  width = 720;

  /** arrange computes the position of each row after the first change. */
  arrange<R extends Row>(rows: readonly R[], estimate: (row: R, width: number) => number): void {
    if (this.heights.size > MAX_HEIGHTS) this.forget(rows);
    const same = rows === this.rows ? rows.length : sharedLength(rows, this.rows);
    for (let i = same; i < this.rows.length; i++) this.index.delete(this.rows[i]?.key ?? "");
    this.offsets.length = rows.length + 1;
    for (let i = Math.min(same, this.dirty); i < rows.length; i++) {
      const row = rows[i] as R;
      this.index.set(row.key, i);
      this.offsets[i + 1] = (this.offsets[i] ?? 0) + (this.heights.get(row.key) ?? estimate(row, this.width));
    }
    this.rows = rows;
    this.dirty = rows.length;
  }

  private forget(rows: readonly Row[]): void {
    const kept = new Set(rows.map((row) => row.key));
    for (const key of this.heights.keys()) if (!kept.has(key)) this.heights.delete(key);
  }

  /** measured stores a measured height and reports whether it changed. */
  measured(key: string, height: number): boolean {
    const before = this.heights.get(key);
    if (before !== undefined && Math.abs(before - height) < 0.5) return false;
    this.heights.set(key, height);
    this.dirty = Math.min(this.dirty, this.index.get(key) ?? this.dirty);
    return true;
  }

  get total(): number {
    return this.offsets[this.offsets.length - 1] ?? 0;
  }

  top(index: number): number {
    return this.offsets[index] ?? this.total;
  }

  find(key: string): number | undefined {
    return this.index.get(key);
  }

  /** at returns the index of the row at an offset. */
  at(y: number): number {
    let low = 0;
    let high = Math.max(this.offsets.length - 2, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.offsets[middle] ?? 0) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** sharedLength returns the number of equal rows at the start of two lists. */
function sharedLength(a: readonly Row[], b: readonly Row[]): number {
  const most = Math.min(a.length, b.length);
  let i = 0;
  while (i < most && a[i] === b[i]) i++;
  return i;
}

/**
 * VirtualList draws only the visible rows of a long list, so the number of elements does not depend on its length. The
 * visible rows keep their place when rows above them are added or change.
 */
export function VirtualList<R extends Row>(props: VirtualListProps<R>) {
  const { rows, estimate, draw, sticky = false, toEnd = 0, target } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const state = useRef({ layout: new Layout(), top: 0, height: 800, pinned: sticky, seen: 0, anchor: "", delta: 0, target: null as object | null, toEnd, jumps: false, shown: "" }).current;
  const observer = useRowObserver(state.layout, redraw);
  state.layout.arrange(rows, estimate);

  if (toEnd !== state.toEnd) {
    state.toEnd = toEnd;
    state.pinned = state.jumps = true;
  }
  if (target && target !== state.target && state.layout.find(target.key) !== undefined) {
    state.target = target;
    state.jumps = true;
    state.anchor = target.key;
    state.delta = target.delta ?? -HEADROOM;
    state.pinned = false;
    state.top = state.layout.top(state.layout.find(target.key) ?? 0) + state.delta;
  } else if (state.pinned) {
    state.top = Math.max(state.layout.total - state.height, 0);
  } else if (state.anchor !== "") {
    const at = state.layout.find(state.anchor);
    if (at !== undefined) state.top = state.layout.top(at) + state.delta;
  }

  /** anchor makes the row at the present offset the one that keeps its place. */
  const anchor = (): void => {
    const first = state.layout.at(state.top);
    state.anchor = rows[first]?.key ?? "";
    state.delta = state.top - state.layout.top(first);
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const pending = state.jumps ? 0 : pendingScroll(element, state.seen);
    state.jumps = false;
    if (state.pinned && pending < 0) return; // the user scrolls away; the scroll event follows
    const top = state.pinned ? element.scrollHeight : state.top + pending;
    if (Math.abs(element.scrollTop - top) > 1) element.scrollTop = top;
    state.seen = element.scrollTop;
    if (pending === 0 || state.pinned) return;
    state.top = element.scrollTop; // another redraw can come before the scroll event
    anchor();
  });

  const first = rows.length === 0 ? 0 : state.layout.at(Math.max(state.top - OVERSCAN, 0));
  const end = rows.length === 0 ? 0 : state.layout.at(state.top + state.height + OVERSCAN) + 1;
  const jump = (key: string): void => {
    state.anchor = key;
    state.delta = -HEADROOM;
    state.pinned = false;
    state.jumps = true;
    redraw(0);
  };
  useListFocus({ scroller, rows, sticky, stops: props.stops ?? always, jump, atEnd: () => state.pinned, atTop: () => state.layout.at(state.top + HEADROOM) });
  useRoving(scroller, sticky ? { first: newest } : {});
  const top = rows[state.layout.at(state.top > 0 ? state.top + UNDER_TOP : 0)];
  useEffect(() => {
    if (top && top.key !== state.shown) props.onTop?.(top);
    state.shown = top?.key ?? "";
  });

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const size = new ResizeObserver(() => {
      state.seen = clamped(element, state.seen);
      state.height = element.clientHeight;
      state.layout.width = Math.min(element.clientWidth, 760);
      redraw(0);
    });
    size.observe(element);
    return () => size.disconnect();
  }, []);

  const edges = (): void => {
    if (state.top < OVERSCAN) props.onNearTop?.();
    if (state.layout.total - state.top - state.height < OVERSCAN) props.onNearEnd?.();
  };
  useEffect(edges, [rows]);

  const scrolled = (): void => {
    const element = scroller.current;
    if (!element) return;
    state.top = element.scrollTop;
    // The event follows the scroll. A height that changed in between does not mean that the user scrolled away.
    const atEnd = element.scrollHeight - element.scrollTop - Math.max(element.clientHeight, state.height) < NEAR;
    state.pinned = sticky && (atEnd || (state.pinned && element.scrollTop >= state.seen - 1));
    state.seen = element.scrollTop;
    anchor();
    props.onEnd?.(atEnd || state.pinned);
    const row = rows[state.layout.at(state.top)];
    props.onPlace?.(row && !atEnd && !state.pinned ? { row, delta: state.delta } : null);
    edges();
    redraw(0);
  };

  return (
    <div ref={scroller} class={`window ${props.class ?? ""}`} role={props.role} aria-label={props.label} tabIndex={props.focusable ? 0 : -1} data-alone={props.focusable ? "" : undefined} onScroll={scrolled}>
      <div class="window-all" style={{ height: `${state.layout.total}px` }}>
        <div class="window-rows" style={{ top: `${state.layout.top(first)}px` }}>
          {rows.slice(first, end).map((row, i) => (
            <div key={row.key} data-key={row.key} class="window-row" role="presentation" ref={observer}>
              {draw(row, first + i)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** clamped returns a seen offset, or the present one if the browser moved the element because its content became shorter. */
const clamped = (element: HTMLElement, seen: number): number =>
  seen > element.scrollHeight - element.clientHeight ? element.scrollTop : seen;

/**
 * pendingScroll returns how far the user scrolled from an offset, in pixels, before the scroll event arrives. A redraw must
 * not revert that. If the content became shorter, the browser itself moved the element.
 */
function pendingScroll(element: HTMLElement, seen: number): number {
  const most = element.scrollHeight - element.clientHeight;
  const moved = element.scrollTop - seen;
  const byBrowser = seen > most && element.scrollTop >= most - 1;
  return byBrowser || Math.abs(moved) <= 1 ? 0 : moved;
}

/** useRowObserver returns a ref for rows that reports their heights to the layout. */
function useRowObserver(layout: Layout, redraw: (action: number) => void): (element: HTMLElement | null) => void {
  const observer = useRef<ResizeObserver | null>(null);
  observer.current ??= new ResizeObserver((entries) => {
    let changed = false;
    for (const entry of entries) {
      const element = entry.target as HTMLElement;
      if (!element.isConnected) {
        observer.current?.unobserve(element);
        continue;
      }
      const height = entry.borderBoxSize[0]?.blockSize ?? element.offsetHeight;
      changed = layout.measured(element.dataset["key"] ?? "", height) || changed;
    }
    if (changed) redraw(0);
  });
  useEffect(() => () => observer.current?.disconnect(), []);
  const observe = useRef((element: HTMLElement | null) => {
    if (element) observer.current?.observe(element);
  });
  return observe.current;
}
