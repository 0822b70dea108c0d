import type { Block, ListedMessage, Summary } from "@strata/client";
import { pieces, type Piece, type Splitter } from "../text/blocks.ts";
import type { Entry } from "../store/transcript.ts";
import type { LiveText } from "../store/live.ts";

/** Row is what the window draws of a message: its head, a piece of its text, a call, its end. */
export type Row = { key: string; entry: Entry; tone: "user" | "answer"; edge: "" | "first" | "last" } & (
  | { kind: "head" }
  | { kind: "folded" }
  | { kind: "thinking"; chars: number }
  | { kind: "thought"; piece: Piece }
  | { kind: "piece"; piece: Piece; all: readonly Piece[]; at: number }
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

/** What somebody unfolded, by the key of the message and a name of the part. */
export type Unfolded = ReadonlySet<string>;

export const unfoldKey = (entry: Entry, part: string): string => `${entry.key} ${part}`;

/** What the view does to a message that it does not hold, in words. */
export const fates: Record<string, string> = {
  summarised: "Summarised", left_out: "Left out to fit", cleared: "Cleared", replaced: "Replaced", taken_back: "Taken back",
};

/** What the view does to a block of a message that it holds, in words. */
const patches: Record<string, string> = {
  duplicate: "Duplicate: the model sees the newer copy only", shortened: "Shown shorter to the model",
};

const cache = new WeakMap<Entry, { unfolded: string; rows: Row[] }>();

/** The rows of a message. They are made once for each state of what is unfolded of it. */
export function rowsOf(entry: Entry, unfolded: Unfolded): readonly Row[] {
  if (entry.live) return liveRows(entry, entry.live, unfolded);
  const mine = [...unfolded].filter((key) => key.startsWith(entry.key + " ")).join();
  const known = cache.get(entry);
  if (known && known.unfolded === mine) return known.rows;
  const rows = new Builder(entry).stored(unfolded);
  cache.set(entry, { unfolded: mine, rows });
  return rows;
}

class Builder {
  private readonly rows: Row[] = [];
  private texts = 0;

  constructor(private readonly entry: Entry) {}

  private add(name: string, body: Body): void {
    const tone = this.entry.message.role === "user" ? "user" : "answer";
    this.rows.push({ key: `${this.entry.key}/${name}`, entry: this.entry, tone, edge: "", ...body } as Row);
  }

  stored(unfolded: Unfolded): Row[] {
    const { message } = this.entry;
    const gone = !message.inView && message.seq > 0;
    if (gone && !unfolded.has(unfoldKey(this.entry, "all"))) {
      this.add("folded", { kind: "folded" });
      return this.finish();
    }
    this.add("head", { kind: "head" });
    message.blocks.forEach((block, i) => this.block(block, i, unfolded));
    const links = message.blocks.filter((b) => b.type === "resource_link");
    if (links.length > 0) this.add("files", { kind: "files", blocks: links });
    if (message.status && message.status !== "complete") this.add("end", { kind: "end", status: message.status });
    return this.finish();
  }

  private finish(): Row[] {
    const first = this.rows[0];
    const last = this.rows.at(-1);
    if (first && "edge" in first) first.edge = "first";
    if (last && "edge" in last && last !== first) last.edge = "last";
    return this.rows;
  }

  private block(block: Block, i: number, unfolded: Unfolded): void {
    switch (block.type) {
      case "text":
        if (!this.patched(i, 0, unfolded)) this.text(block.text ?? "");
        break;
      case "thinking":
        this.thinking(i, block.text ?? "", unfolded);
        break;
      case "image":
        this.add(`image${i}`, { kind: "picture", block });
        break;
      case "resource":
        if (!this.patched(i, 0, unfolded)) this.add(`resource${i}`, { kind: "resource", block });
        break;
      case "tool_call":
        this.add(`call${i}`, { kind: "call", block });
        break;
      case "tool_result":
        (block.content ?? []).forEach((part, j) => {
          if (this.patched(i, j, unfolded)) return;
          if (part.type === "image") this.add(`result${i}.${j}`, { kind: "picture", block: part });
          else this.add(`result${i}.${j}`, { kind: "result", text: part.text ?? "", isError: block.isError ?? false });
        });
        break;
    }
  }

  /** Shows what the view shows in the place of a block; the original is shown behind it where somebody asked for it. */
  private patched(block: number, part: number, unfolded: Unfolded): boolean {
    const patch = this.entry.message.view?.patches?.find((p) => p.block === block && p.part === part);
    if (!patch) return false;
    this.add(`patch${block}.${part}`, { kind: "patched", block, part, text: patch.text, label: patches[patch.state] ?? "Shown differently" });
    return !unfolded.has(unfoldKey(this.entry, `patch${block}.${part}`));
  }

  private text(text: string): void {
    const all = pieces(text);
    all.forEach((piece, at) => this.add(`p${this.texts++}`, { kind: "piece", piece, all, at }));
  }

  private thinking(i: number, text: string, unfolded: Unfolded): void {
    this.add("thinking", { kind: "thinking", chars: text.length });
    if (!unfolded.has(unfoldKey(this.entry, "thinking"))) return;
    pieces(text).forEach((piece, n) => this.add(`t${i}.${n}`, { kind: "thought", piece }));
  }
}

/** The rows of a streaming answer: those of finished pieces are made once. */
interface LiveRows {
  head: Row;
  text: Row[];
  thought: Row[];
}

const liveCache = new WeakMap<LiveText, LiveRows>();

function liveRows(entry: Entry, live: LiveText, unfolded: Unfolded): readonly Row[] {
  let known = liveCache.get(live);
  const base = { entry, tone: "answer", edge: "" } as const;
  if (!known) liveCache.set(live, (known = { head: { ...base, key: `${entry.key}/head`, kind: "head", edge: "first" }, text: [], thought: [] }));
  grow(known.text, live.text, (piece, at) => ({ ...base, key: `${entry.key}/p${at}`, kind: "piece", piece, all: live.text.done, at }));
  grow(known.thought, live.thought, (piece, at) => ({ ...base, key: `${entry.key}/t0.${at}`, kind: "thought", piece }));
  const rows: Row[] = [known.head];
  if (live.thoughtChars > 0) {
    rows.push({ ...base, key: `${entry.key}/thinking`, kind: "thinking", chars: live.thoughtChars });
    if (unfolded.has(unfoldKey(entry, "thinking"))) {
      for (const row of known.thought) rows.push(row);
      rows.push({ ...base, key: `${entry.key}/t0.${known.thought.length}`, kind: "tail", live, of: "thought" });
    }
  }
  for (const row of known.text) rows.push(row);
  rows.push({ ...base, key: `${entry.key}/p${known.text.length}`, kind: "tail", live, of: "text", edge: "last" });
  return rows;
}

function grow(rows: Row[], splitter: Splitter, make: (piece: Piece, at: number) => Row): void {
  for (let at = rows.length; at < splitter.done.length; at++) {
    const piece = splitter.done[at];
    if (piece) rows.push(make(piece, at));
  }
}

/** All rows of a transcript, the summary where it stands: in front of what the view holds. */
export function allRows(entries: readonly Entry[], tail: readonly Entry[], summary: Summary | undefined, unfolded: Unfolded): Row[] {
  const rows: Row[] = [];
  let summaryDue = summary;
  for (const entry of [...entries, ...tail]) {
    if (summaryDue && entry.message.inView) {
      rows.push({ key: "summary", kind: "summary", summary: summaryDue });
      summaryDue = undefined;
    }
    for (const row of rowsOf(entry, unfolded)) rows.push(row);
  }
  if (summaryDue) rows.push({ key: "summary", kind: "summary", summary: summaryDue });
  return rows;
}

/** About how high a row is, in pixels. */
export function estimate(row: Row, width: number): number {
  const text = (s: string, line: number, char: number): number =>
    s.split("\n").reduce((sum, part) => sum + Math.max(1, Math.ceil((part.length * char) / width)), 0) * line;
  switch (row.kind) {
    case "piece":
    case "thought":
      return row.piece.kind === "code" ? row.piece.text.split("\n").length * 20 + (row.piece.continued ? 0 : 52) : text(row.piece.text, 23, 7) + 12;
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

/** The beginning of a message in one line. */
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

/** The text of a message as it was written. */
export const plainText = (message: ListedMessage): string =>
  message.blocks.map((b) => (b.type === "text" ? (b.text ?? "") : "")).filter((t) => t !== "").join("\n\n");
