import { signal } from "@preact/signals";

/** A running export or import of a session. */
export interface Transfer {
  id: number;
  label: string;
  /** From 0 to 1; undefined while unknown. */
  done: number | undefined;
  cancel: () => void;
}

export const transfers = signal<readonly Transfer[]>([]);
