import { useLayoutEffect, useRef } from "preact/hooks";
import type { Segment } from "../text/segments.ts";
import { render } from "../text/markdown.ts";
import type { LiveRun, LiveText } from "../store/live-text.ts";
import { CopyButton } from "../ui/controls.tsx";

/** Markdown as harmless elements. */
export function Markdown({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current?.replaceChildren(render(text));
  }, [text]);
  return <div ref={element} class="prose" />;
}

/** wholeCode returns the code that starts in a segment, including the segments that continue it. */
function wholeCode(all: readonly Segment[], at: number): string {
  const parts = [all[at]?.text ?? ""];
  for (let i = at + 1; all[i]?.continued; i++) parts.push(all[i]?.text ?? "");
  return parts.join("\n");
}

export function SegmentView({ segment, all, at }: { segment: Segment; all: readonly Segment[]; at: number }) {
  if (segment.kind === "markdown") return <Markdown text={segment.text} />;
  const continues = all[at + 1]?.continued ?? false;
  return (
    <div class={`code${segment.continued ? " continued" : ""}${continues ? " continues" : ""}`}>
      {!segment.continued && (
        <div class="code-head">
          <span>{segment.lang}</span>
          <CopyButton text={() => wholeCode(all, at)} label="Copy code" />
        </div>
      )}
      <pre tabIndex={0}>
        <code>{segment.text}</code>
      </pre>
    </div>
  );
}

/** The open segment, the only one drawn again while a reply streams. */
export function TailView({ live, run }: { live: LiveText; run: LiveRun | null }) {
  void live.grown.value;
  const segment = run?.text.tail();
  if (run?.kind === "thought") return <p class="thought" dir="auto">{segment?.text ?? ""}</p>;
  if (!segment) return live.parts.length > 0 ? <span class="caret" aria-hidden="true" /> : <Waiting />;
  return (
    <div class="growing">
      <SegmentView segment={segment} all={run?.text.done ?? []} at={run?.text.done.length ?? 0} />
    </div>
  );
}

export function Waiting() {
  return (
    <p class="waiting" role="status">
      Waiting for the model
    </p>
  );
}
