import { signal } from "@preact/signals";

/** A short message about the outcome of an action, which may offer an undo. */
export interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

/** Maximum number of toasts; the oldest is dropped. */
const MAX_TOASTS = 4;
const SHOWN_MS = 8000;

export const toasts = signal<readonly Toast[]>([]);
let last = 0;

export function toast(text: string, options: { bad?: boolean; action?: Toast["action"] } = {}): void {
  const id = ++last;
  const entry: Toast = { id, text, bad: options.bad ?? false };
  if (options.action) entry.action = options.action;
  toasts.value = [...toasts.value, entry].slice(-MAX_TOASTS);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** undoable shows the outcome of an action that is done at once, because undo takes it back. */
export function undoable(text: string, undo: () => Promise<unknown>, bad = false): void {
  toast(text, { bad, action: { label: "Undo", run: () => void undo().catch(failed("Cannot undo")) } });
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

/** reason returns the message of an error. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** failed returns an error handler that shows a toast: what failed, and the reason. */
export const failed = (what: string) => (error: unknown): void => toast(`${what}: ${reason(error)}`, { bad: true });
