import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { Dialog, IconButton, Progress } from "../ui/controls.tsx";
import { canFind, find, selected, type Selected } from "./asking.ts";

/** The answer whether something is in the next request, while it is open. Its code is loaded then. */
export function Find({ view }: { view: SessionView }) {
  const [Answer, setAnswer] = useState<ComponentType<{ view: SessionView }> | null>(null);
  const open = view.sought.value !== null;
  useEffect(() => {
    if (open && !Answer) import("./answer.tsx").then((m) => setAnswer(() => m.Answer), failed("Cannot load the answer"));
  }, [open, Answer]);
  if (!open) return null;
  return (
    <Dialog title="Is it in the next request?" onClose={() => (view.sought.value = null)}>
      {Answer ? <Answer view={view} /> : <Progress value={undefined} label="Searching the next request" />}
    </Dialog>
  );
}

/** A button that asks whether a message, or the text that is selected in it, is in the next request. */
export function FindMessage({ view, id }: { view: SessionView; id: string }) {
  const before = useRef<Selected | null>(null); // a click can end the selection
  if (!canFind()) return null;
  const ask = (): void => {
    const part = before.current ?? selected();
    before.current = null;
    find(view, part?.messageId === id ? { messageId: id, text: part.text } : { messageId: id });
  };
  return (
    <span onPointerDown={() => (before.current = selected())}>
      <IconButton icon="find" label="Is it in the next request?" onClick={ask} />
    </span>
  );
}

/** A button at a text that was selected with the mouse. */
export function FindSelected({ view }: { view: SessionView }) {
  const [part, setPart] = useState<Selected | null>(null);
  useEffect(() => {
    const look = (): void => setPart(canFind() ? selected() : null);
    const drop = (): void => setPart((now) => (now && selected()?.text !== now.text ? null : now));
    const events = [["mouseup", look], ["selectionchange", drop], ["scroll", () => setPart(null)]] as const;
    for (const [name, run] of events) document.addEventListener(name, run, true);
    return () => events.forEach(([name, run]) => document.removeEventListener(name, run, true));
  }, [view]);
  if (!part) return null;
  const at = part.range.getBoundingClientRect();
  return (
    <button type="button" class="button small find-selected" style={{ top: `${Math.max(at.top - 34, 4)}px`, left: `${Math.max(Math.min(at.left, innerWidth - 90), 4)}px` }}
      onMouseDown={(e) => e.preventDefault()} onClick={() => find(view, { messageId: part.messageId, text: part.text })}>Is it in?</button>
  );
}
