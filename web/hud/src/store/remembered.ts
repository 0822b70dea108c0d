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

/** onChange calls a function when another tab changes a stored value. It returns the end of that. */
export function onChange(name: string, run: () => void): () => void {
  const changed = (event: StorageEvent): void => {
    if (event.key === PREFIX + name || event.key === null) run();
  };
  addEventListener("storage", changed);
  return () => removeEventListener("storage", changed);
}

/** names returns the names of the stored values that start with a prefix. */
export function names(prefix: string): string[] {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX + prefix)).map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}

/** A setting that the browser remembers, and that follows changes in other tabs. */
export function setting<T extends boolean | string | number>(name: string, initial: T): Signal<T> {
  const stored = (): T => {
    const value = recall(name);
    return typeof value === typeof initial ? (value as T) : initial;
  };
  const held = signal(stored());
  onChange(name, () => {
    held.value = stored();
  });
  held.subscribe((value) => {
    if (value !== stored()) remember(name, value);
  });
  return held;
}
