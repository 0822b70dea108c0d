import { signal, type Signal } from "@preact/signals";

/** The start of the names under which this module stores values in the storage of this origin. */
const PREFIX = "strata.";

/** Maximum characters of a stored value. */
export const MAX_CHARS = 1 << 20;

/**
 * recall returns a value that the browser remembers, undefined for none. Other programs and older pages can have written
 * anything: the caller checks the value.
 */
export function recall(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null || text.length > MAX_CHARS ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** remember stores a value and reports whether the storage took it. The value undefined removes the stored one. */
export function remember(name: string, value: unknown): boolean {
  try {
    const text = value === undefined ? undefined : JSON.stringify(value);
    if (text === undefined || text.length > MAX_CHARS) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, text);
    return text === undefined || text.length <= MAX_CHARS;
  } catch {
    return false;
  }
}

/** A setting that the browser remembers, and that follows changes in other tabs. */
export function setting<T extends boolean | string | number>(name: string, initial: T): Signal<T> {
  const stored = (): T => {
    const value = recall(name);
    return typeof value === typeof initial ? (value as T) : initial;
  };
  const held = signal(stored());
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + name || event.key === null) held.value = stored();
  });
  held.subscribe((value) => {
    if (value !== stored()) remember(name, value);
  });
  return held;
}
