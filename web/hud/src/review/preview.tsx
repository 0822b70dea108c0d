import { useEffect, useRef } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import type { TakeBack } from "../store/take-back.ts";
import { asks } from "../store/confirming.ts";
import { plural } from "../text/format.ts";
import { Outcome } from "./outcome.tsx";
import { stays } from "./words.ts";

interface PreviewProps {
  /** The key of the action, and the value of `data-actions` around its button. */
  name: string;
  view: SessionView;
  takeBack: TakeBack;
}

/** What an action would do, if files would stay as they are. Escape cancels the action. */
export function Preview({ name, view, takeBack }: PreviewProps) {
  const waiting = takeBack.waiting.value;
  if (waiting?.action.key !== name || !asks(takeBack)) return null;
  return <Waiting name={name} {...waiting} view={view} takeBack={takeBack} />;
}

type WaitingProps = PreviewProps & NonNullable<TakeBack["waiting"]["value"]>;

function Waiting({ name, action, preview, view, takeBack }: WaitingProps) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), [preview]);
  const kept = preview.files.filter(stays).length;
  const others = preview.files.length - kept + (preview.omitted ?? 0);
  const verb = action.forward ? "Put forward" : "Take back";
  const leave = (run: () => void): void => {
    const list = first.current?.closest(".window"); // the panel and the dialog can show the same changes
    run();
    requestAnimationFrame(() => list?.querySelector<HTMLElement>(`[data-actions="${CSS.escape(name)}"] button`)?.focus());
  };
  const title = kept === 0 ? "The files:" : `${plural(kept, "file")} would stay as ${kept === 1 ? "it is" : "they are"}:`;
  return (
    <div class="review-preview" role="group" aria-label={title}
      onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); e.preventDefault(); leave(() => takeBack.cancel()); } }}>
      <p>{title}</p>
      <Outcome restored={preview} folder={view.cwd.value} />
      {preview.note && <p class="note">{preview.note}</p>}
      <p class="review-actions">
        {others > 0 && <button ref={first} type="button" class="button small primary" onClick={() => leave(() => void takeBack.confirm())}>{verb} {kept > 0 ? `the other ${plural(others, "file")}` : plural(others, "file")}</button>}
        <button ref={others > 0 ? undefined : first} type="button" class="button small" onClick={() => leave(() => takeBack.cancel())}>{others > 0 ? "Cancel" : "Close"}</button>
      </p>
    </div>
  );
}
