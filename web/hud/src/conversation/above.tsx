import { useEffect, useRef } from "preact/hooks";
import { toast, failed } from "../store/toasts.ts";
import type { Entry } from "../store/transcript.ts";
import { CopyButton } from "../ui/controls.tsx";
import { author } from "./message.tsx";
import { firstLine, plainText, type Row } from "./rows.ts";

/** startsMessage reports whether a row is the first one of a message. */
export const startsMessage = (row: Row): boolean => row.kind === "head" || row.kind === "folded";

const entryOf = (row: Row | null | undefined): Entry | undefined => (row && row.kind !== "summary" ? row.entry : undefined);

/** The event that asks the conversation to copy a message. It is cancelled if there is one. */
const COPY = "copymessage";

/** copyMessage copies the message that has the focus or is at the top. It reports whether there is one. */
export const copyMessage = (): boolean => {
  const frame = document.querySelector(".transcript-window");
  return frame !== null && !frame.dispatchEvent(new Event(COPY, { cancelable: true }));
};

interface AboveProps {
  /** The row at the upper edge. */
  top: Row | null;
  rows: readonly Row[];
  /** Scrolls to a row. */
  onShow: (key: string) => void;
}

/** The message whose beginning is above the upper edge: its author, the way back to its beginning, and the button that copies it. */
export function Above({ top, rows, onShow }: AboveProps) {
  const element = useRef<HTMLDivElement>(null);
  const entry = entryOf(top);
  useEffect(() => {
    const frame = element.current?.parentElement;
    const copy = (event: Event): void => {
      const key = document.activeElement?.closest<HTMLElement>(".transcript [data-key]")?.dataset["key"];
      const of = entryOf(rows.find((row) => row.key === key)) ?? entry;
      if (!of) return;
      event.preventDefault();
      navigator.clipboard.writeText(plainText(of.message)).then(() => toast("Message copied"), failed("Cannot copy"));
    };
    frame?.addEventListener(COPY, copy);
    return () => frame?.removeEventListener(COPY, copy);
  }, [rows, entry]);
  const start = entry && top && !startsMessage(top) ? rows.find((row) => startsMessage(row) && entryOf(row) === entry) : undefined;
  return (
    <div ref={element} class={start ? "above" : "hidden"}>
      {start && entry && (
        <>
          <button type="button" class="link" onClick={() => onShow(start.key)}>{author(entry)}</button>
          <span class="above-text" dir="auto">{firstLine(entry.message)}</span>
          {!entry.live && <CopyButton text={() => plainText(entry.message)} label="Copy message" />}
        </>
      )}
    </div>
  );
}
