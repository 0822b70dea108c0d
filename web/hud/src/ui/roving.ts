import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** Elements that can have the focus, and those among them that are Tab stops of their own: fields, and what asks a question. */
const ITEMS = "a[href], button, summary, [tabindex]";
const OWN = ".question, [role=menu], [role=tablist], .window, .prose-table, .scroll-x, pre, label, form";

/** What a row of a list or a table is. */
const ROW = ".window-row, tr, li";

const arrows = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]);

interface Roving {
  /** The widgets inside the element; by default the element is one. */
  inside?: string;
  /** The Tab stop of a widget that did not have the focus. By default it is the current entry, or the first one. */
  first?: (items: readonly HTMLElement[]) => HTMLElement | undefined;
}

/**
 * useRoving makes a list or a table one Tab stop: the item that had the focus last. The arrow keys move the focus: up and
 * down to the next row, left and right inside a row. An item that is out of sight is not focused: then the keys scroll.
 */
export function useRoving(ref: RefObject<HTMLElement | null>, { inside, first = firstItem }: Roving = {}): void {
  useEffect(() => {
    const root = ref.current;
    if (!root) return;
    const last = new WeakMap<Element, HTMLElement>();
    const widgets = (): HTMLElement[] => (inside === undefined ? [root] : [...root.querySelectorAll<HTMLElement>(inside)]);
    const widgetOf = (of: EventTarget | null): HTMLElement | undefined => widgets().find((w) => of instanceof Node && w.contains(of));
    const apply = (): void => {
      frame = 0;
      for (const widget of widgets()) {
        const items = itemsOf(widget);
        const active = last.get(widget);
        const stop = active && items.includes(active) ? active : first(items);
        for (const item of items) setTabIndex(item, item === stop ? 0 : -1);
        for (const pre of widget.querySelectorAll("pre")) setTabIndex(pre, scrolls(pre) ? 0 : -1);
        if (widget.dataset["alone"] !== undefined) setTabIndex(widget, items.length === 0 ? 0 : -1);
      }
    };
    let frame = 0;
    const soon = (): void => {
      frame ||= requestAnimationFrame(apply);
    };
    const focused = (event: FocusEvent): void => {
      const widget = widgetOf(event.target);
      if (!widget || !(event.target instanceof HTMLElement) || !itemsOf(widget).includes(event.target)) return;
      last.set(widget, event.target);
      apply();
    };
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || !arrows.has(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const widget = widgetOf(event.target);
      const next = widget && nextItem(itemsOf(widget), event.target, event.key);
      if (!next || !inSight(next)) return;
      event.preventDefault();
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    };
    apply();
    const observer = new MutationObserver(soon);
    observer.observe(root, { childList: true, subtree: true });
    root.addEventListener("focusin", focused);
    root.addEventListener("keydown", pressed);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      root.removeEventListener("focusin", focused);
      root.removeEventListener("keydown", pressed);
    };
  }, []);
}

function setTabIndex(element: HTMLElement, value: number): void {
  if (element.getAttribute("tabindex") !== String(value)) element.tabIndex = value;
}

const scrolls = (element: Element): boolean => element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;

const itemsOf = (widget: HTMLElement): HTMLElement[] =>
  [...widget.querySelectorAll<HTMLElement>(ITEMS)].filter((e) => {
    const own = e.closest(OWN);
    return own === null || own === widget || !widget.contains(own);
  });

const firstItem = (items: readonly HTMLElement[]): HTMLElement | undefined => items.find((e) => e.hasAttribute("aria-current")) ?? items[0];

const rowOf = (item: Element): Element => item.closest(ROW) ?? item;

/** nextItem returns the item to which an arrow key leads, undefined for none. A row is entered at its first item. */
function nextItem(items: readonly HTMLElement[], from: EventTarget | null, key: string): HTMLElement | undefined {
  const at = items.findIndex((item) => item === from);
  const now = items[at];
  if (!now) return undefined;
  const sameRow = (item: HTMLElement | undefined): HTMLElement | undefined => (item && rowOf(item) === rowOf(now) ? item : undefined);
  switch (key) {
    case "ArrowRight":
      return sameRow(items[at + 1]);
    case "ArrowLeft":
      return sameRow(items[at - 1]);
    case "ArrowDown":
      return items.slice(at + 1).find((item) => rowOf(item) !== rowOf(now));
    default: {
      const before = items.slice(0, at).findLast((item) => rowOf(item) !== rowOf(now));
      return before && items.find((item) => rowOf(item) === rowOf(before));
    }
  }
}

/** Pixels beyond the edges that count as in sight: the next row, but not the end of a long text. */
const NEAR = 80;

function inSight(item: HTMLElement): boolean {
  const { top, bottom } = item.getBoundingClientRect();
  const around = (item.closest(".window, .inspected, .page") ?? document.documentElement).getBoundingClientRect();
  return bottom > around.top - NEAR && top < around.bottom + NEAR;
}
