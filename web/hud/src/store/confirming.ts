import { signal } from "@preact/signals";

/** Who asks the question that is open, null for none: the page asks one question at a time. */
const asking = signal<object | null>(null);

/** asks reports whether the open question is that of an owner. */
export const asks = (by: object): boolean => asking.value === by;

/** ask opens a question in place of another one. */
export function ask(by: object): void {
  asking.value = by;
}

/** answered closes a question. */
export function answered(by: object): void {
  if (asking.peek() === by) asking.value = null;
}
