import type { Sought } from "@strata/client";
import { offers } from "../store/connection.ts";
import { current, type SessionView } from "../store/session.ts";

/** Characters of a selected text that are looked for. */
const MAX_TEXT = 20_000;

/** canFind reports whether the server can say whether something is in the next request. */
export const canFind = (): boolean => offers("_strata/context/find");

/** A selected text and its message. */
export interface Selected {
  messageId: string;
  text: string;
  range: Range;
}

/** selected returns the text that is selected in one message, null for none. */
export function selected(): Selected | null {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const of = (node: Node | null): string => (node instanceof Element ? node : node?.parentElement)?.closest<HTMLElement>("[data-of]")?.dataset["of"] ?? "";
  const messageId = of(selection.anchorNode);
  const text = selection.toString().slice(0, MAX_TEXT);
  if (messageId === "" || of(selection.focusNode) !== messageId || text.trim() === "") return null;
  return { messageId, text, range: selection.getRangeAt(0) };
}

/** find opens the answer whether something is in the next request. */
export function find(view: SessionView, sought: Sought): void {
  view.sought.value = sought;
}

/** findHere looks for what is selected, or for the message or file that has the focus; false if there is none. */
export function findHere(): void | false {
  const view = current.peek();
  if (!view || !canFind()) return false;
  const part = selected();
  const focus = document.activeElement;
  const messageId = focus?.closest<HTMLElement>("[data-message]")?.dataset["message"] ?? focus?.closest<HTMLElement>("[data-of]")?.dataset["of"];
  const path = focus?.closest<HTMLElement>("[data-file]")?.dataset["file"];
  if (part) find(view, { messageId: part.messageId, text: part.text });
  else if (messageId) find(view, { messageId });
  else if (path) find(view, { path });
  else return false;
}
