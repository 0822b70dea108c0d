import { setting } from "../store/remembered.ts";

/** Whether Enter sends a text. Otherwise Enter starts a new line. A keyboard on the screen has no Shift+Enter. */
export const enterSends = setting("enter-sends", !matchMedia("(hover: none) and (pointer: coarse)").matches);

/** isComposing reports whether a key belongs to an input method, which composes a character. Safari reports the last key late. */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;

/** sends reports whether a key sends the text of a field. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || isComposing(event)) return false;
  return event.ctrlKey || event.metaKey || (enterSends.value && !event.shiftKey && !event.altKey);
}

/** The keys that send a text, and those that start a new line. */
export const sendKeys = (): string[] => (enterSends.value ? ["Enter"] : ["Ctrl", "Enter"]);
export const lineKeys = (): string[] => (enterSends.value ? ["Shift", "Enter"] : ["Enter"]);
