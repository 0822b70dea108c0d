import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import type { Folder, Listed } from "../store/sessions.ts";

/**
 * useSteady returns the folders in their order, and a ref for the element around their list. While the pointer or the keyboard's
 * focus is in that element, folders and sessions keep their places, and new ones come last.
 */
export function useSteady(now: readonly Folder[]): [readonly Folder[], RefObject<HTMLDivElement | null>] {
  const around = useRef<HTMLDivElement>(null);
  const held = useHeld(around);
  const before = useRef<readonly Folder[]>(now);
  if (!held) before.current = now;
  else if (before.current !== now) before.current = steady(before.current, now);
  return [before.current, around];
}

/** useHeld returns whether the pointer or the keyboard's focus is in an element. The focus after a click holds nothing. */
function useHeld(around: RefObject<HTMLElement | null>): boolean {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    const element = around.current;
    if (!element) return;
    const is = { pointed: false, focused: false };
    const stop = new AbortController();
    const on = (name: string, change: (event: Event) => void): void =>
      element.addEventListener(name, (event) => { change(event); setHeld(is.pointed || is.focused); }, { signal: stop.signal });
    on("pointerenter", () => (is.pointed = true));
    on("pointerleave", () => (is.pointed = false));
    on("focusin", (event) => (is.focused = (event.target as HTMLElement).matches(":focus-visible")));
    on("focusout", (event) => (is.focused &&= element.contains((event as FocusEvent).relatedTarget as Node | null)));
    return () => stop.abort();
  }, []);
  return held;
}

/** steady returns the present folders in their earlier places, and what is new in further groups after them. */
function steady(before: readonly Folder[], now: readonly Folder[]): readonly Folder[] {
  const present = new Map<string, Listed>();
  for (const folder of now) for (const listed of folder.sessions) present.set(listed.info.sessionId, listed);
  const kept = before.flatMap(({ sessions, ...folder }): Folder[] => {
    const still = sessions.flatMap(({ info }) => {
      const listed = present.get(info.sessionId);
      present.delete(info.sessionId);
      return listed ? [listed] : [];
    });
    return still.length > 0 ? [{ ...folder, sessions: still }] : [];
  });
  for (const { sessions, ...folder } of now) {
    const added = sessions.filter(({ info }) => present.has(info.sessionId));
    const last = kept.at(-1);
    if (added.length > 0 && last?.path === folder.path) kept[kept.length - 1] = { ...folder, sessions: [...last.sessions, ...added] };
    else if (added.length > 0) kept.push({ ...folder, sessions: added });
  }
  return kept;
}
