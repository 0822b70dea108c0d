import type { Block } from "@strata/client";
import { painted, useRuns } from "../code/code.tsx";
import { base, plural } from "../text/format.ts";
import { CopyButton } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Icon } from "../ui/icons.tsx";
import { useWhole } from "../ui/whole.ts";

export function Files({ blocks }: { blocks: Block[] }) {
  return (
    <ul class="chips" aria-label="Attached files">
      {blocks.map((b) => b.type === "resource_link" && (
        <li key={b.uri} class="chip" title={b.uri}>
          <Icon name="file" />
          <bdi class="cut"><Cut text={b.name || base(b.uri)} /></bdi>
        </li>
      ))}
    </ul>
  );
}

/** A location of a call, on one line. */
export function Place({ at }: { at: string }) {
  return <bdi class="cut" title={at}><Cut text={at} /></bdi>;
}

/** The types of pictures that are shown. Their data is in the message. */
export const pictureTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function Picture({ block }: { block: Extract<Block, { type: "image" }> }) {
  if (!block.data || !pictureTypes.has(block.mimeType ?? "")) return <p class="quiet">Picture ({block.mimeType ?? "unknown type"})</p>;
  return <img class="picture" alt="Picture in this message" src={`data:${block.mimeType};base64,${block.data}`} />;
}

/** Characters of a long text that are shown at first. */
const SHOWN_TEXT = 4000;

interface LabeledProps {
  text: string;
  label: string;
  /** The text describes a failure. */
  bad?: boolean;
  /** A long text is shown in full: the output of a command, because its end matters most. */
  whole?: boolean;
  /** The part of the text that is code. */
  code?: CodePart | undefined;
}

/** CodePart is the part of a text that is code: its offsets, and its language or the path of its file. */
export interface CodePart {
  lang: string;
  from: number;
  to: number;
}

/** A text with a label, monospace, at first the beginning of a long one. */
export function Labeled({ text, label, bad = false, whole = false, code }: LabeledProps) {
  const [all, setAll] = useWhole(whole);
  const hidden = whole ? 0 : text.length - SHOWN_TEXT;
  const { lang = "", from = 0, to = 0 } = code ?? {};
  const runs = useRuns(lang, text.slice(from, to));
  const shown = all ? text : text.slice(0, SHOWN_TEXT);
  return (
    <div class={bad ? "result bad" : "result"}>
      <p class="result-label">
        <span>{label}</span>
        <CopyButton text={() => text} label={whole ? "Copy output" : label === "Input" ? "Copy input" : "Copy result"} />
      </p>
      {text !== "" && <pre tabIndex={0}>{shown.slice(0, from)}{painted(shown.slice(from, to), runs)}{shown.slice(to)}</pre>}
      {hidden > 0 && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? "Show less" : `Show ${plural(hidden, "more character")}`}
        </button>
      )}
    </div>
  );
}
