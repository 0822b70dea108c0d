import type { Block, Summary } from "@strata/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { base, count, fully, plural, when } from "../text/format.ts";
import type { SessionView } from "../store/session.ts";
import type { Entry } from "../store/transcript.ts";
import { CopyButton, IconButton } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { PieceView, TailView } from "./pieces.tsx";
import { editing } from "./draft.ts";
import { fates, firstLine, plainText, unfoldKey, type Row } from "./rows.ts";

interface RowProps {
  row: Row;
  view: SessionView;
  marked: boolean;
  toggle: (key: string) => void;
}

/** One row of the conversation. */
export function RowView({ row, view, marked, toggle }: RowProps) {
  if (row.kind === "summary") return <SummaryRow summary={row.summary} />;
  const gone = !row.entry.message.inView && row.entry.message.seq > 0;
  const classes = ["row", row.tone, row.edge, `is-${row.kind}`, gone ? "gone" : "", marked ? "marked" : ""].filter((c) => c !== "").join(" ");
  return <div class={classes}>{rowBody(row, view, toggle)}</div>;
}

function rowBody(row: Exclude<Row, { kind: "summary" }>, view: SessionView, toggle: (key: string) => void): ComponentChildren {
  switch (row.kind) {
    case "head":
      return <Head entry={row.entry} view={view} toggle={toggle} />;
    case "folded":
      return <Folded entry={row.entry} toggle={toggle} />;
    case "thinking":
      return <Thinking chars={row.chars} entry={row.entry} toggle={toggle} />;
    case "thought":
      return <p class="thought">{row.piece.text}</p>;
    case "piece":
      return <PieceView piece={row.piece} all={row.all} at={row.at} />;
    case "tail":
      return <TailView live={row.live} of={row.of} />;
    case "patched":
      return <Patched row={row} toggle={toggle} />;
    case "files":
      return <Files blocks={row.blocks} />;
    case "picture":
      return <Picture block={row.block} />;
    case "resource":
      return <Result text={row.block.text ?? ""} label={row.block.uri} />;
    case "call":
      return <Call block={row.block} />;
    case "result":
      return <Result text={row.text} label={row.isError ? "Failed" : "Result"} bad={row.isError} />;
    case "end":
      return <p class="ending">{endings[row.status] ?? row.status}</p>;
  }
}

const endings: Record<string, string> = {
  cancelled: "Stopped. What had come was kept.",
  interrupted: "The server stopped in the middle of this answer. What had come was kept.",
  failed: "The provider failed in the middle of this answer. What had come was kept.",
  damaged: "The stored message cannot be read.",
};

const roles = { user: "You", assistant: "Answer", tool: "Tool" } as const;

function who(entry: Entry): string {
  const { role, model } = entry.message;
  return role === "assistant" && model ? base(model) : roles[role];
}

function Head({ entry, view, toggle }: { entry: Entry; view: SessionView; toggle: (key: string) => void }) {
  const { message } = entry;
  const gone = !message.inView && message.seq > 0;
  const editable = message.role === "user" && message.id !== "" && message.inView && view.canRestore && !entry.live;
  return (
    <header class="head" tabIndex={-1} data-message={message.id}>
      <span class="who">{who(entry)}</span>
      {gone && <Fate entry={entry} toggle={toggle} open />}
      <span class="head-facts">
        {message.tokens > 0 && <span>{plural(message.tokens, "token")}</span>}
        {message.seq > 0 && <time dateTime={message.at} title={fully(message.at)}>{when(message.at)}</time>}
      </span>
      <span class="head-actions">
        {editable && <IconButton icon="edit" label="Edit and send again" onClick={() => (editing.value = entry)} disabled={view.busy.value} />}
        {!entry.live && <CopyButton text={() => plainText(message)} label="Copy message" />}
      </span>
    </header>
  );
}

/** Says what the view did to a message that it does not hold; a click shows or hides the original. */
function Fate({ entry, toggle, open }: { entry: Entry; toggle: (key: string) => void; open: boolean }) {
  const state = entry.message.view?.state ?? "";
  return (
    <button type="button" class="fate" aria-expanded={open} onClick={() => toggle(unfoldKey(entry, "all"))}>
      {fates[state] ?? "Not in view"}
    </button>
  );
}

function Folded({ entry, toggle }: { entry: Entry; toggle: (key: string) => void }) {
  return (
    <div class="folded-line" tabIndex={-1} data-message={entry.message.id}>
      <Fate entry={entry} toggle={toggle} open={false} />
      <span class="who">{who(entry)}</span>
      <span class="folded-text">{firstLine(entry.message)}</span>
    </div>
  );
}

function Thinking({ chars, entry, toggle }: { chars: number; entry: Entry; toggle: (key: string) => void }) {
  return (
    <button type="button" class="disclosure" onClick={() => toggle(unfoldKey(entry, "thinking"))}>
      <Icon name="chevron" />
      Thinking <span class="quiet">{plural(chars, "character")}</span>
    </button>
  );
}

function Patched({ row, toggle }: { row: Extract<Row, { kind: "patched" }>; toggle: (key: string) => void }) {
  return (
    <div class="patched">
      <p class="patched-label">
        {row.label}
        <button type="button" class="link" onClick={() => toggle(unfoldKey(row.entry, `patch${row.block}.${row.part}`))}>
          Show or hide the original
        </button>
      </p>
      <p class="patched-text">{row.text}</p>
    </div>
  );
}

function Files({ blocks }: { blocks: Block[] }) {
  return (
    <ul class="chips" aria-label="Files sent along">
      {blocks.map((b) => b.type === "resource_link" && (
        <li key={b.uri} class="chip" title={b.uri}>
          <Icon name="file" />
          {b.name || base(b.uri)}
        </li>
      ))}
    </ul>
  );
}

/** Pictures that came with a message; nothing is loaded for them. */
const pictureTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function Picture({ block }: { block: Extract<Block, { type: "image" }> }) {
  if (!block.data || !pictureTypes.has(block.mimeType ?? "")) return <p class="quiet">A picture ({block.mimeType ?? "unknown type"})</p>;
  return <img class="picture" alt="A picture of this message" src={`data:${block.mimeType};base64,${block.data}`} />;
}

function Call({ block }: { block: Extract<Block, { type: "tool_call" }> }) {
  return (
    <details class="call">
      <summary>
        <Icon name="chevron" />
        <span class="call-name">{block.name}</span>
        <code class="call-args">{(block.args ?? "").slice(0, 200)}</code>
        {block.incomplete && <span class="mark bad">cut off</span>}
      </summary>
      <pre>{pretty(block.args ?? "")}</pre>
    </details>
  );
}

function pretty(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}

/** So much of a long result is shown at first, in characters. */
const SHOWN_RESULT = 4000;

function Result({ text, label, bad = false }: { text: string; label: string; bad?: boolean }) {
  const [all, setAll] = useState(false);
  const cut = text.length - SHOWN_RESULT;
  return (
    <div class={bad ? "result bad" : "result"}>
      <p class="result-label">
        {label}
        <CopyButton text={() => text} label="Copy result" />
      </p>
      <pre tabIndex={0}>{all ? text : text.slice(0, SHOWN_RESULT)}</pre>
      {cut > 0 && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? "Show less" : `Show ${count(cut)} more characters`}
        </button>
      )}
    </div>
  );
}

function SummaryRow({ summary }: { summary: Summary }) {
  return (
    <section class="summary-card" aria-label="Summary">
      <p class="summary-head">
        Summary of {plural(summary.messages, "message")} <span class="quiet">{plural(summary.tokens, "token")}, sent in their place</span>
      </p>
      <p class="summary-text">{summary.text}</p>
    </section>
  );
}
