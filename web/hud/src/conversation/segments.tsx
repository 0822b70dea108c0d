import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { painted, useRuns } from "../code/code.tsx";
import { NestedCode } from "../code/nested.tsx";
import type { Segment } from "../text/segments.ts";
import { render } from "../text/markdown.ts";
import type { LiveRun, LiveText } from "../store/live-text.ts";
import { CopyButton, IconButton } from "../ui/controls.tsx";
import { editorOf } from "../store/editor.ts";

/** Markdown as harmless elements. The code in a text that grows has no colors. */
export function Markdown({ text, grows = false }: { text: string; grows?: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  const [blocks, setBlocks] = useState<readonly HTMLElement[]>(NONE);
  useLayoutEffect(() => {
    element.current?.replaceChildren(render(text));
    setBlocks(grows ? NONE : [...(element.current?.querySelectorAll<HTMLElement>("code[data-lang]") ?? NONE)]);
  }, [text, grows]);
  return <><div ref={element} class="prose" />{blocks.map((block, i) => <NestedCode key={i} element={block} />)}</>;
}

const NONE: readonly never[] = [];

/** startOf returns the index of the segment in which the code of a segment starts. */
function startOf(all: readonly Segment[], at: number): number {
  let start = at;
  while (start > 0 && all[start]?.continued) start--;
  return start;
}

/** wholeCode returns the code that starts in a segment, including the segments that continue it. */
function wholeCode(all: readonly Segment[], at: number): string {
  const parts = [all[at]?.text ?? ""];
  for (let i = at + 1; all[i]?.continued; i++) parts.push(all[i]?.text ?? "");
  return parts.join("\n");
}

/** Maximum characters of a line that can name the file of a block. */
const MAX_NAMING = 500;

/** lineBefore returns the last line of the text before the code that starts in a segment, "" for none. */
function lineBefore(all: readonly Segment[], at: number): string {
  const before = all[at - 1];
  return before?.kind === "markdown" ? (before.text.trimEnd().split("\n").at(-1) ?? "").slice(0, MAX_NAMING) : "";
}

/** The buttons of a block of code for the editor that shows the page. A page in a browser has none. */
function EditorButtons({ all, at }: { all: readonly Segment[]; at: number }) {
  const editor = editorOf();
  if (!editor) return null;
  const apply = (): void => {
    const start = startOf(all, at);
    editor.applyCode({ text: wholeCode(all, start), info: (all[start]?.info ?? "").slice(0, MAX_NAMING), before: lineBefore(all, start) });
  };
  return (
    <>
      <IconButton icon="insert" label="Insert code at cursor" onClick={() => editor.insertCode(wholeCode(all, startOf(all, at)))} />
      <IconButton icon="apply" label="Apply code" onClick={apply} />
    </>
  );
}

interface SegmentProps {
  segment: Segment;
  all: readonly Segment[];
  at: number;
  /** More segments can follow. */
  grows?: boolean;
}

export function SegmentView({ segment, all, at, grows = false }: SegmentProps) {
  return segment.kind === "markdown" ? <Markdown text={segment.text} grows={grows && all[at] !== segment} /> : <CodeSegment segment={segment} all={all} at={at} grows={grows} />;
}

/** A segment of code, in colors when the whole code is there. */
function CodeSegment({ segment, all, at, grows = false }: SegmentProps) {
  const continues = all[at + 1]?.continued ?? false;
  const ended = !grows || all.findIndex((s, i) => i > at && !s.continued) > 0;
  const [whole, from] = useMemo(() => {
    if (!ended || segment.lang === "") return ["", 0];
    const start = startOf(all, at);
    return [wholeCode(all, start), all.slice(start, at).reduce((sum, s) => sum + s.text.length + 1, 0)];
  }, [segment, ended]);
  const runs = useRuns(segment.lang, whole);
  return (
    <div class={`code${segment.continued ? " continued" : ""}${continues ? " continues" : ""}`}>
      <div class="code-head">
        <span>{!segment.continued && segment.lang}</span>
        {ended && <EditorButtons all={all} at={at} />}
        <CopyButton text={() => wholeCode(all, startOf(all, at))} label="Copy code" />
      </div>
      <pre tabIndex={0}>
        <code>{painted(segment.text, runs, from)}</code>
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
      <SegmentView segment={segment} all={run?.text.done ?? []} at={run?.text.done.length ?? 0} grows />
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
