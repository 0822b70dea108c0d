import { signal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { rename } from "../store/sessions.ts";
import { failed } from "../store/toasts.ts";

/** Where a session can be renamed. */
export type Place = "title" | "row";

/** The session whose title is being edited, and where. */
export const naming = signal<{ id: string; at: Place } | null>(null);

export const isNaming = (id: string, at: Place): boolean => naming.value?.id === id && naming.value.at === at;

/** The field for the title of a session. Enter or leaving it saves, Escape discards. */
export function TitleField({ id, title, onDone }: { id: string; title: string; onDone?: () => void }) {
  const [text, setText] = useState(title);
  const ended = useRef(false);
  const end = (save: boolean): void => {
    if (ended.current) return;
    ended.current = true;
    naming.value = null;
    if (save && text.trim() !== "" && text !== title) rename(id, text.trim()).catch(failed("Cannot rename the session"));
  };
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    event.stopPropagation();
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    end(event.key === "Enter");
    onDone?.();
  };
  return (
    <input class="title-field" type="text" dir="auto" aria-label="Session title" autofocus value={text} ref={(e) => { if (e && document.activeElement !== e) { e.focus(); e.select(); } }}
      onInput={(e) => setText(e.currentTarget.value)} onKeyDown={keys} onBlur={() => end(true)} />
  );
}
