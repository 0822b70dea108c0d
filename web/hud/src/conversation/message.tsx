import type { Summary } from "@strata/client";
import type { ComponentChildren } from "preact";
import { base, fully, plural, sentence, when } from "../text/format.ts";
import { isPictureReason, reasonText } from "../text/reasons.ts";
import { requestAddress } from "../routes.ts";
import type { SessionView } from "../store/session.ts";
import type { Entry } from "../store/transcript.ts";
import { CopyButton, IconButton } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { Whole } from "../ui/whole.ts";
import { Call, Plan, Steps } from "./call.tsx";
import { EndedView } from "./ended.tsx";
import { Files, Labeled, Picture } from "./content.tsx";
import { ThinkingFor, ThinkingNow } from "./pace.tsx";
import { SegmentView, TailView, Waiting } from "./segments.tsx";
import { visibilities, firstLine, plainText, expandKey, type Row, type Toggle } from "./rows.ts";

interface RowProps {
  row: Row;
  view: SessionView;
  marked: boolean;
  /** Shows all of its content, also what is too long at first. */
  whole: boolean;
  toggle: Toggle;
}

/** One row of the conversation. */
export function RowView({ row, view, marked, whole, toggle }: RowProps) {
  if (row.kind === "summary") return <SummaryRow summary={row.summary} />;
  const outside = !row.entry.message.inView && row.entry.message.seq > 0;
  const classes = ["row", row.tone, row.edge, `is-${row.kind}`, row.kind === "head" && row.continued ? "continued" : "", outside && row.kind !== "ended" ? "outside" : "", marked ? "marked" : ""].filter((c) => c !== "").join(" ");
  return <div class={classes}><Whole.Provider value={whole}>{rowBody(row, view, toggle)}</Whole.Provider></div>;
}

function rowBody(row: Exclude<Row, { kind: "summary" }>, view: SessionView, toggle: Toggle): ComponentChildren {
  switch (row.kind) {
    case "head":
      return <Head entry={row.entry} continued={row.continued} view={view} toggle={toggle} />;
    case "folded":
      return <Folded entry={row.entry} toggle={toggle} />;
    case "thinking":
      return <Thinking row={row} toggle={toggle} />;
    case "thought":
      return <p class="thought" dir="auto">{row.segment.text}</p>;
    case "segment":
      return <SegmentView segment={row.segment} all={row.all} at={row.at} grows={row.entry.live !== undefined} />;
    case "tail":
      return <TailView live={row.live} run={row.run} />;
    case "patched":
      return <Patched row={row} toggle={toggle} />;
    case "files":
      return <Files blocks={row.blocks} />;
    case "picture":
      return <Picture block={row.block} />;
    case "resource":
      return <Labeled text={row.block.text ?? ""} label={row.block.uri} code={{ lang: row.block.uri, from: 0, to: row.block.text?.length ?? 0 }} />;
    case "call":
      return <Call row={row} view={view} toggle={toggle} />;
    case "result":
      return <Labeled text={row.text} label={row.isError ? "Failed" : "Result"} bad={row.isError} />;
    case "end":
      return <p class="ending">{endings[row.status] ?? row.status}</p>;
    case "steps":
      return <Steps row={row} author={author(row.entry)} toggle={toggle} />;
    case "waiting":
      return <Waiting />;
    case "changes":
      return <button type="button" class="changes-line" onClick={() => view.reviews.show(row.turnId)}><Icon name="edit" />{plural(row.files, "file")} changed</button>;
    case "ended":
      return <EndedView row={row} view={view} />;
    case "plan":
      return <Plan entries={row.entries} />;
  }
}

export const endings: Record<string, string> = {
  cancelled: "Stopped. Partial reply saved.",
  interrupted: "The server stopped during this reply. Partial reply saved.",
  failed: "The provider failed during this reply. Partial reply saved.",
  empty: "The model's reply is empty.",
  damaged: "The stored message is damaged.",
};

const roles = { user: "You", assistant: "Reply", tool: "Tool" } as const;

export function author(entry: Entry): string {
  const { role, model } = entry.message;
  return role === "assistant" && model ? base(model) : roles[role];
}

interface HeadProps {
  entry: Entry;
  /** A further step of a reply does not name the author again. */
  continued: boolean;
  view: SessionView;
  toggle: Toggle;
}

function Head({ entry, continued, view, toggle }: HeadProps) {
  const { message } = entry;
  const outside = !message.inView && message.seq > 0;
  const editable = message.role === "user" && message.id !== "" && message.inView && view.canRestore && !entry.live;
  return (
    <header class={continued ? "head continued" : "head"} tabIndex={-1} data-message={message.id}>
      <span class={continued ? "hidden" : "who"}>{author(entry)}</span>
      {outside && <Visibility entry={entry} toggle={toggle} open />}
      {!outside && omittedPictures(message.id, view).map((text) => <span key={text} class="mark">{text}</span>)}
      <span class="head-facts">
        {message.tokens > 0 && <span>{plural(message.tokens, "token")}</span>}
        {message.seq > 0 && <time dateTime={message.at} title={fully(message.at)}>{when(message.at)}</time>}
      </span>
      <span class="head-actions">
        {editable && <IconButton icon="edit" label="Edit prompt" onClick={() => (view.editing.value = entry)} disabled={view.busy.value} />}
        {!entry.live && message.role === "assistant" && message.seq > 0 && (
          <a class="icon-button" href={requestAddress(view.id, message.id)} aria-label="Open the request of this reply" title="Open the request of this reply"><Icon name="list" /></a>
        )}
        {!entry.live && <CopyButton text={() => plainText(message)} label="Copy message" />}
      </span>
    </header>
  );
}

/** Why the next request omits pictures of a message, each reason once. Without a breakdown, the last request counts. */
function omittedPictures(id: string, view: SessionView): string[] {
  const leftOut = view.breakdown.value.value?.leftOut ?? view.leftOut.value;
  return leftOut.filter((l) => l.key === `msg:${id}` && isPictureReason(l.reason)).map((l) => sentence(reasonText(l.reason)));
}

/** The visibility of a message outside the view. A click shows or hides the message. */
function Visibility({ entry, toggle, open }: { entry: Entry; toggle: Toggle; open: boolean }) {
  const state = entry.message.view?.state ?? "";
  return (
    <button type="button" class="visibility" aria-expanded={open} onClick={() => toggle(expandKey(entry, "all"))}>
      {visibilities[state] ?? "Not in view"}
    </button>
  );
}

function Folded({ entry, toggle }: { entry: Entry; toggle: Toggle }) {
  return (
    <div class="folded-line" tabIndex={-1} data-message={entry.message.id}>
      <Visibility entry={entry} toggle={toggle} open={false} />
      <span class="who">{author(entry)}</span>
      <span class="folded-text" dir="auto">{firstLine(entry.message)}</span>
    </div>
  );
}

function Thinking({ row, toggle }: { row: Extract<Row, { kind: "thinking" }>; toggle: Toggle }) {
  return (
    <button type="button" class="disclosure" aria-expanded={row.open} onClick={() => toggle(expandKey(row.entry, row.part))}>
      <Icon name="chevron" />
      {!row.streams && <>Thinking <span class="quiet">{plural(row.chars, "character")}</span></>}
      {row.streams && (row.streams.grows ? <ThinkingNow {...row.streams} /> : <ThinkingFor ms={row.streams.run.until - row.streams.run.begun} chars={row.chars} />)}
    </button>
  );
}

function Patched({ row, toggle }: { row: Extract<Row, { kind: "patched" }>; toggle: Toggle }) {
  return (
    <div class="patched">
      <p class="patched-label">
        {row.label}
        <button type="button" class="link" onClick={() => toggle(expandKey(row.entry, `patch${row.block}.${row.part}`))}>
          Show or hide original
        </button>
      </p>
      <p class="patched-text" dir="auto">{row.text}</p>
    </div>
  );
}

function SummaryRow({ summary }: { summary: Summary }) {
  return (
    <section class="summary-card" aria-label="Summary">
      <p class="summary-head">
        Summary of {plural(summary.messages, "message")} <span class="quiet">{plural(summary.tokens, "token")}, sent instead</span>
      </p>
      <p class="summary-text" dir="auto">{summary.text}</p>
    </section>
  );
}
