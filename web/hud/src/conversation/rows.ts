import type { Block, ListedMessage, Summary } from "@strata/client";
import { segments, type Segment, type Splitter } from "../text/segments.ts";
import type { Entry } from "../store/transcript.ts";
import type { LiveText } from "../store/live-text.ts";

/** Row is a row of the conversation: the head of a message, a segment of its text, a tool call, its ending. */
export type Row = { key: string; entry: Entry; tone: "user" | "reply"; edge: "" | "first" | "last" } & (
  | { kind: "head" }
  | { kind: "folded" }
  | { kind: "thinking"; chars: number }
  | { kind: "thought"; segment: Segment }
  | { kind: "segment"; segment: Segment; all: readonly Segment[]; at: number }
  | { kind: "tail"; live: LiveText; of: "text" | "thought" }
  | { kind: "patched"; block: number; part: number; text: string; label: string }
  | { kind: "files"; blocks: Block[] }
  | { kind: "picture"; block: Extract<Block, { type: "image" }> }
  | { kind: "resource"; block: Extract<Block, { type: "resource" }> }
  | { kind: "call"; block: Extract<Block, { type: "tool_call" }> }
  | { kind: "result"; text: string; isError: boolean }
  | { kind: "end"; status: string }
) | { key: string; kind: "summary"; summary: Summary };

type Body = Row extends infer R ? (R extends { edge: string } ? Omit<R, "key" | "entry" | "tone" | "edge"> : never) : never;

/** Expanded parts, by the key of the entry and the name of the part. */
export type Expanded = ReadonlySet<string>;

export const expandKey = (entry: Entry, part: string): string => `${entry.key} ${part}`;

/** The visibility of messages outside the view, in words. */
export const visibilities: Record<string, string> = {
  summarised: "Summarised", left_out: "Evicted to fit", cleared: "Cleared", replaced: "Replaced", taken_back: "Undone", unanswered: "Failed", unfinished: "Broken off",
};

/** How the view shows a block of a message differently, in words. */
const patches: Record<string, string> = {
  duplicate: "Duplicate: the model receives only the newer copy", shortened: "Truncated for the model",
};

/** isSilent reports whether a block of a reply says nothing. */
const isSilent = (block: Block): boolean => block.type === "thinking" || (block.type === "text" && !block.text?.trim());

/** isPicture reports whether a block, or a part of a tool result, is a picture. */
const isPicture = (block: Block | undefined, part: number): boolean =>
  block?.type === "image" || (block?.type === "tool_result" && block.content?.[part]?.type === "image");

const cache = new WeakMap<Entry, { expanded: string; rows: Row[] }>();

/** rowsOf returns the rows of an entry, cached until its expanded parts change. */
export function rowsOf(entry: Entry, expanded: Expanded): readonly Row[] {
  if (entry.live) return liveRows(entry, entry.live, expanded);
  const own = [...expanded].filter((key) => key.startsWith(entry.key + " ")).join();
  const known = cache.get(entry);
  if (known && known.expanded === own) return known.rows;
  const rows = new Builder(entry).stored(expanded);
  cache.set(entry, { expanded: own, rows });
  return rows;
}

class Builder {
  private readonly rows: Row[] = [];
  private texts = 0;

  constructor(private readonly entry: Entry) {}

  private add(name: string, body: Body): void {
    const tone = this.entry.message.role === "user" ? "user" : "reply";
    this.rows.push({ key: `${this.entry.key}/${name}`, entry: this.entry, tone, edge: "", ...body } as Row);
  }

  stored(expanded: Expanded): Row[] {
    const { message } = this.entry;
    const outside = !message.inView && message.seq > 0;
    if (outside && !expanded.has(expandKey(this.entry, "all"))) {
      this.add("folded", { kind: "folded" });
      return this.finish();
    }
    this.add("head", { kind: "head" });
    message.blocks.forEach((block, i) => this.block(block, i, expanded));
    const links = message.blocks.filter((b) => b.type === "resource_link");
    if (links.length > 0) this.add("files", { kind: "files", blocks: links });
    if (message.status && message.status !== "complete") this.add("end", { kind: "end", status: message.status });
    else if (message.role === "assistant" && message.seq > 0 && message.blocks.every(isSilent)) this.add("end", { kind: "end", status: "empty" });
    return this.finish();
  }

  private finish(): Row[] {
    const first = this.rows[0];
    const last = this.rows.at(-1);
    if (first && "edge" in first) first.edge = "first";
    if (last && "edge" in last && last !== first) last.edge = "last";
    return this.rows;
  }

  private block(block: Block, i: number, expanded: Expanded): void {
    switch (block.type) {
      case "text":
        if (!this.patched(i, 0, expanded)) this.text(block.text ?? "");
        break;
      case "thinking":
        this.thinking(i, block.text ?? "", expanded);
        break;
      case "image":
        if (!this.patched(i, 0, expanded)) this.add(`image${i}`, { kind: "picture", block });
        break;
      case "resource":
        if (!this.patched(i, 0, expanded)) this.add(`resource${i}`, { kind: "resource", block });
        break;
      case "tool_call":
        this.add(`call${i}`, { kind: "call", block });
        break;
      case "tool_result":
        (block.content ?? []).forEach((part, j) => {
          if (this.patched(i, j, expanded)) return;
          if (part.type === "image") this.add(`result${i}.${j}`, { kind: "picture", block: part });
          else this.add(`result${i}.${j}`, { kind: "result", text: part.text ?? "", isError: block.isError ?? false });
        });
        break;
    }
  }

  /** Adds a row for the patch of a block, if it has one. Reports whether the original stays hidden. */
  private patched(block: number, part: number, expanded: Expanded): boolean {
    const { view, blocks } = this.entry.message;
    const patch = view?.patches?.find((p) => p.block === block && p.part === part);
    if (!patch) return false;
    this.add(`patch${block}.${part}`, { kind: "patched", block, part, text: patch.text, label: isPicture(blocks[block], part) ? "Picture omitted from requests" : patches[patch.state] ?? "Changed for the model" });
    return !expanded.has(expandKey(this.entry, `patch${block}.${part}`));
  }

  private text(text: string): void {
    const all = segments(text);
    all.forEach((segment, at) => this.add(`p${this.texts++}`, { kind: "segment", segment, all, at }));
  }

  private thinking(i: number, text: string, expanded: Expanded): void {
    this.add("thinking", { kind: "thinking", chars: text.length });
    if (!expanded.has(expandKey(this.entry, "thinking"))) return;
    segments(text).forEach((segment, n) => this.add(`t${i}.${n}`, { kind: "thought", segment }));
  }
}

/** The rows of a streaming reply. The rows of finished segments are created once. */
interface LiveRows {
  head: Row;
  text: Row[];
  thought: Row[];
}

const liveCache = new WeakMap<LiveText, LiveRows>();

function liveRows(entry: Entry, live: LiveText, expanded: Expanded): readonly Row[] {
  let known = liveCache.get(live);
  const base = { entry, tone: "reply", edge: "" } as const;
  if (!known) liveCache.set(live, (known = { head: { ...base, key: `${entry.key}/head`, kind: "head", edge: "first" }, text: [], thought: [] }));
  grow(known.text, live.text, (segment, at) => ({ ...base, key: `${entry.key}/p${at}`, kind: "segment", segment, all: live.text.done, at }));
  grow(known.thought, live.thought, (segment, at) => ({ ...base, key: `${entry.key}/t0.${at}`, kind: "thought", segment }));
  const rows: Row[] = [known.head];
  if (live.thoughtChars > 0) {
    rows.push({ ...base, key: `${entry.key}/thinking`, kind: "thinking", chars: live.thoughtChars });
    if (expanded.has(expandKey(entry, "thinking"))) {
      for (const row of known.thought) rows.push(row);
      rows.push({ ...base, key: `${entry.key}/t0.${known.thought.length}`, kind: "tail", live, of: "thought" });
    }
  }
  for (const row of known.text) rows.push(row);
  rows.push({ ...base, key: `${entry.key}/p${known.text.length}`, kind: "tail", live, of: "text", edge: "last" });
  return rows;
}

function grow(rows: Row[], splitter: Splitter, make: (segment: Segment, at: number) => Row): void {
  for (let at = rows.length; at < splitter.done.length; at++) {
    const segment = splitter.done[at];
    if (segment) rows.push(make(segment, at));
  }
}

/** allRows returns the rows of a transcript. The summary is before the first message in the view. */
export function allRows(entries: readonly Entry[], tail: readonly Entry[], summary: Summary | undefined, expanded: Expanded): Row[] {
  const rows: Row[] = [];
  let pendingSummary = summary;
  for (const entry of [...entries, ...tail]) {
    if (pendingSummary && entry.message.inView) {
      rows.push({ key: "summary", kind: "summary", summary: pendingSummary });
      pendingSummary = undefined;
    }
    for (const row of rowsOf(entry, expanded)) rows.push(row);
  }
  if (pendingSummary) rows.push({ key: "summary", kind: "summary", summary: pendingSummary });
  return rows;
}

/** estimate returns the approximate height of a row, in pixels. */
export function estimate(row: Row, width: number): number {
  const text = (s: string, line: number, char: number): number =>
    s.split("\n").reduce((sum, part) => sum + Math.max(1, Math.ceil((part.length * char) / width)), 0) * line;
  switch (row.kind) {
    case "segment":
    case "thought":
      return row.segment.kind === "code" ? row.segment.text.split("\n").length * 20 + (row.segment.continued ? 0 : 52) : text(row.segment.text, 23, 7) + 12;
    case "tail":
      return 36;
    case "head":
      return 40;
    case "folded":
      return 34;
    case "result":
      return Math.min(text(row.text, 19, 7.4), 160) + 24;
    case "picture":
      return 200;
    case "summary":
      return text(row.summary.text, 22, 7) + 60;
    default:
      return 36;
  }
}

/** firstLine returns the start of a message as one line. */
export function firstLine(message: ListedMessage): string {
  for (const block of message.blocks) {
    const text =
      block.type === "text" || block.type === "resource" ? block.text
      : block.type === "tool_call" ? `${block.name} ${block.args ?? ""}`
      : block.type === "tool_result" ? block.content?.map((c) => (c.type === "text" ? c.text : "")).join(" ")
      : undefined;
    if (text?.trim()) return text.trim().slice(0, 200).replace(/\s+/g, " ");
  }
  return "";
}

/** plainText returns the text blocks of a message as Markdown source. */
export const plainText = (message: ListedMessage): string =>
  message.blocks.map((b) => (b.type === "text" ? (b.text ?? "") : "")).filter((t) => t !== "").join("\n\n");
