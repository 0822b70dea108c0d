import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

export interface Row {
  /** Names the row among all rows, for as long as it is the same. */
  key: string;
}

/** Pixels beyond the edges that are drawn as well, and heights that are remembered at most. */
const OVERSCAN = 600;
const MAX_HEIGHTS = 20_000;
/** So close to the end it is the end, in pixels. */
const NEAR = 40;

interface WindowProps<R extends Row> {
  rows: readonly R[];
  /** About how high a row will be, in pixels, until it was drawn once. */
  estimate: (row: R, width: number) => number;
  draw: (row: R, index: number) => ComponentChildren;
  /** Begins at the end and stays there while rows come, unless somebody scrolls away. */
  sticky?: boolean;
  /** A row to scroll to; a new object scrolls again. */
  target?: { key: string } | null | undefined;
  onNearTop?: (() => void) | undefined;
  onNearEnd?: (() => void) | undefined;
  onEnd?: ((atEnd: boolean) => void) | undefined;
  class?: string;
  /** It gets the focus by the tab key: for rows that cannot have it, so that the arrow keys scroll. */
  focusable?: boolean;
  role?: "log" | "tree" | "list";
  label: string;
}

/** Layout knows where each row stands. It belongs to one window. */
class Layout {
  private readonly heights = new Map<string, number>();
  private readonly index = new Map<string, number>();
  private rows: readonly Row[] = [];
  private offsets: number[] = [0];
  /** Rows from here on have another place than when they were arranged last. */
  private dirty = 0;
  width = 720;

  /** Finds the place of each row. What stands in front of the first change is left alone. */
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

  /** Takes a height that was measured; reports whether it is news. */
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

  /** The row that covers a height. */
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

/** How many rows at the beginning of two lists are the same. */
function sharedLength(a: readonly Row[], b: readonly Row[]): number {
  const most = Math.min(a.length, b.length);
  let i = 0;
  while (i < most && a[i] === b[i]) i++;
  return i;
}

/**
 * Window draws of a long list only the rows in sight, so that the number of elements does not depend on its length. What
 * is looked at stays where it is when rows come or change above it.
 */
export function Window<R extends Row>(props: WindowProps<R>) {
  const { rows, estimate, draw, sticky = false, target } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const state = useRef({ layout: new Layout(), top: 0, height: 800, pinned: sticky, seen: 0, anchor: "", delta: 0, target: null as object | null, jumps: false }).current;
  const observer = useRowObserver(state.layout, redraw);
  state.layout.arrange(rows, estimate);

  if (target && target !== state.target && state.layout.find(target.key) !== undefined) {
    state.target = target;
    state.jumps = true;
    state.anchor = target.key;
    state.delta = -72;
    state.pinned = false;
    state.top = state.layout.top(state.layout.find(target.key) ?? 0) + state.delta;
  } else if (state.pinned) {
    state.top = Math.max(state.layout.total - state.height, 0);
  } else if (state.anchor !== "") {
    const at = state.layout.find(state.anchor);
    if (at !== undefined) state.top = state.layout.top(at) + state.delta;
  }

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const pending = state.jumps ? 0 : pendingScroll(element, state.seen);
    state.jumps = false;
    if (state.pinned && pending < 0) return; // somebody scrolls away, as the event will say
    const top = state.pinned ? element.scrollHeight : state.top + pending;
    if (Math.abs(element.scrollTop - top) > 1) element.scrollTop = top;
    state.seen = element.scrollTop;
  });

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const size = new ResizeObserver(() => {
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
    // The event comes later than the scrolling. What took room meanwhile is nobody who scrolled away.
    const atEnd = element.scrollHeight - element.scrollTop - Math.max(element.clientHeight, state.height) < NEAR;
    state.pinned = sticky && (atEnd || (state.pinned && element.scrollTop >= state.seen - 1));
    state.seen = element.scrollTop;
    const first = state.layout.at(state.top);
    state.anchor = rows[first]?.key ?? "";
    state.delta = state.top - state.layout.top(first);
    props.onEnd?.(atEnd || state.pinned);
    edges();
    redraw(0);
  };

  const first = rows.length === 0 ? 0 : state.layout.at(Math.max(state.top - OVERSCAN, 0));
  const end = rows.length === 0 ? 0 : state.layout.at(state.top + state.height + OVERSCAN) + 1;
  return (
    <div ref={scroller} class={`window ${props.class ?? ""}`} role={props.role} aria-label={props.label} tabIndex={props.focusable ? 0 : -1} onScroll={scrolled}>
      <div class="window-all" style={{ height: `${state.layout.total}px` }}>
        <div class="window-rows" style={{ transform: `translateY(${state.layout.top(first)}px)` }}>
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

/**
 * How far somebody has scrolled since an element stood at a height, in pixels. The event of it is still to come; a redraw
 * must not take it back. Where there is less to scroll than there was, the browser has moved the element itself.
 */
function pendingScroll(element: HTMLElement, seen: number): number {
  const most = element.scrollHeight - element.clientHeight;
  const moved = element.scrollTop - seen;
  const byBrowser = seen > most && element.scrollTop >= most - 1;
  return byBrowser || Math.abs(moved) <= 1 ? 0 : moved;
}

/** Returns a ref for rows that tells the layout how high they are. */
function useRowObserver(layout: Layout, redraw: (action: number) => void): (element: HTMLElement | null) => void {
  const observer = useRef<ResizeObserver | null>(null);
  observer.current ??= new ResizeObserver((entries) => {
    let news = false;
    for (const entry of entries) {
      const element = entry.target as HTMLElement;
      if (!element.isConnected) {
        observer.current?.unobserve(element);
        continue;
      }
      const height = entry.borderBoxSize[0]?.blockSize ?? element.offsetHeight;
      news = layout.measured(element.dataset["key"] ?? "", height) || news;
    }
    if (news) redraw(0);
  });
  useEffect(() => () => observer.current?.disconnect(), []);
  const observe = useRef((element: HTMLElement | null) => {
    if (element) observer.current?.observe(element);
  });
  return observe.current;
}
