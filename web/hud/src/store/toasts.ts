import { signal } from "@preact/signals";

/** A toast says what has happened, and may offer to take it back. */
export interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

/** At most so many are shown; the oldest goes first. */
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

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

/** What went wrong, in the server's words. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Tells of a failed action. */
export const failed = (what: string) => (error: unknown): void => toast(`${what}: ${reason(error)}`, { bad: true });
