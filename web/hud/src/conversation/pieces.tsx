import { useLayoutEffect, useRef } from "preact/hooks";
import type { Piece } from "../text/blocks.ts";
import { render } from "../text/markdown.ts";
import type { LiveText } from "../store/live.ts";
import { CopyButton } from "../ui/controls.tsx";

/** Markdown as elements that cannot do anything. */
export function Markdown({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current?.replaceChildren(render(text));
  }, [text]);
  return <div ref={element} class="prose" />;
}

/** All of a code block, of which a piece may be only the beginning. */
function wholeCode(all: readonly Piece[], at: number): string {
  const parts = [all[at]?.text ?? ""];
  for (let i = at + 1; all[i]?.continued; i++) parts.push(all[i]?.text ?? "");
  return parts.join("\n");
}

export function PieceView({ piece, all, at }: { piece: Piece; all: readonly Piece[]; at: number }) {
  if (piece.kind === "markdown") return <Markdown text={piece.text} />;
  const goesOn = all[at + 1]?.continued ?? false;
  return (
    <div class={`code${piece.continued ? " continued" : ""}${goesOn ? " goes-on" : ""}`}>
      {!piece.continued && (
        <div class="code-head">
          <span>{piece.lang}</span>
          <CopyButton text={() => wholeCode(all, at)} label="Copy code" />
        </div>
      )}
      <pre tabIndex={0}>
        <code>{piece.text}</code>
      </pre>
    </div>
  );
}

/** The piece that still grows: it alone is drawn anew while an answer streams. */
export function TailView({ live, of }: { live: LiveText; of: "text" | "thought" }) {
  void live.grown.value;
  const piece = live[of].tail();
  if (of === "thought") return <p class="thought">{piece?.text ?? ""}</p>;
  if (!piece) return live.textChars > 0 || live.thoughtChars > 0 ? <span class="caret" aria-hidden="true" /> : <Waiting />;
  return (
    <div class="growing">
      <PieceView piece={piece} all={live.text.done} at={live.text.done.length} />
    </div>
  );
}

function Waiting() {
  return (
    <p class="waiting" role="status">
      Waiting for the model
    </p>
  );
}
