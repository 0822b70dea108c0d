import { signal } from "@preact/signals";

/** The dialog that is open, "" for none. */
export const dialog = signal<"" | "new" | "help">("");
