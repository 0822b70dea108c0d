import { signal } from "@preact/signals";

/** The open dialog, "" for none. */
export const dialog = signal<"" | "new" | "help">("");
