import type { Block, ListedMessage, PlanEntry, Summary } from "@strata/client";
import { plain } from "../text/plain.ts";
import { segments, type Segment } from "../text/segments.ts";
import type { Entry } from "../store/transcript.ts";
import type { LivePart, LiveRun, LiveText } from "../store/live-text.ts";
import { EndedRows, type Ended } from "./ended-rows.ts";
import { resultKey, type Results, type ShownPlan } from "../store/tool-calls.ts";

/** Row is a row of the conversation: the head of a message, a segment of its text, a tool call, its ending. */
export type Row = { key: string; entry: Entry; tone: "user" | "reply"; edge: "" | "first" | "last" } & (
  | { kind: "head"; continued: boolean }
  | { kind: "folded" }
  | { kind: "thinking"; chars: number; part: string; open: boolean; streams?: Streams }
  | { kind: "thought"; segment: Segment }
  | { kind: "segment"; segment: Segment; all: readonly Segment[]; at: number; /** Missing while the message streams. */ block?: number }
  | { kind: "tail"; live: LiveText; run: LiveRun | null }
  | { kind: "patched"; block: number; part: number; text: string; label: string }
  | { kind: "files"; blocks: Block[] }
  | { kind: "picture"; block: Extract<Block, { type: "image" }> }
  | { kind: "resource"; block: Extract<Block, { type: "resource" }> }
  | { kind: "call"; callId: string; name: string; args: string; incomplete: boolean; open: boolean }
  | { kind: "result"; text: string; isError: boolean }
  | { kind: "end"; status: string }
  | { kind: "steps"; part: string; calls: number; failed: number; open: boolean }
  | { kind: "waiting" }
  | { kind: "changes"; turnId: string; files: number }
  | { kind: "plan"; entries: readonly PlanEntry[] }
  | Ended
) | { key: string; kind: "summary"; summary: Summary };

/** Streams is the run of thinking in a reply that is not stored yet. */
interface Streams {
  live: LiveText;
  run: LiveRun;
  /** It is the last part of the reply. */
  grows: boolean;
}

type Body = Row extends infer R ? (R extends { edge: string } ? Omit<R, "key" | "entry" | "tone" | "edge"> : never) : never;

/** Expanded parts, by the key of the entry and the name of the part. */
export type Expanded = ReadonlySet<string>;

export const expandKey = (entry: Entry, part: string): string => `${entry.key} ${part}`;

/** Toggle expands or closes a part. The part around it (optional) is expanded, so that it stays in sight. */
export type Toggle = (key: string, around?: string) => void;

/** The visibility of messages outside the view, in words. */
export const visibilities: Record<string, string> = {
  summarised: "Summarised", left_out: "Evicted to fit", cleared: "Cleared", replaced: "Replaced", taken_back: "Undone", unanswered: "Failed", unfinished: "Broken off",
};

/** stepsKey is the key of the expanded steps of a turn. */
export const stepsKey = (turnId: string): string => `${turnId} steps`;

/** How the view shows a block of a message differently, in words. */
const patches: Record<string, string> = {
  duplicate: "Duplicate: the model receives only the newer copy", shortened: "Truncated for the model",
};

/** patchLabel returns how the view shows a text or a picture differently, in words. */
export const patchLabel = (state: string, picture: boolean): string =>
  picture ? "Picture omitted from requests" : patches[state] ?? "Changed for the model";

/** isSilent reports whether a block of a reply says nothing. */
const isSilent = (block: Block): boolean => block.type === "thinking" || (block.type === "text" && !block.text?.trim());

/** isPicture reports whether a block, or a part of a tool result, is a picture. */
const isPicture = (block: Block | undefined, part: number): boolean =>
  block?.type === "image" || (block?.type === "tool_result" && block.content?.[part]?.type === "image");

/** Around is what the rows of an entry depend on besides the entry. */
interface Around {
  expanded: Expanded;
  /** The entry continues a reply: it is a further step of the same turn. */
  continued: boolean;
  /** The blocks of the entry that are shown with their calls. */
  joined: ReadonlySet<number> | undefined;
}

const cache = new WeakMap<Entry, { around: string; rows: Row[] }>();

/** rowsOf returns the rows of an entry, cached until that on which they depend changes. */
function rowsOf(entry: Entry, around: Around): readonly Row[] {
  if (entry.live) return liveRows(entry, entry.live, around);
  const own = [...around.expanded].filter((key) => key.startsWith(entry.key + " ")).join();
  const id = [own, around.continued, [...(around.joined ?? [])].join()].join("|");
  const known = cache.get(entry);
  if (known && known.around === id) return known.rows;
  const rows = new Builder(entry, around).stored();
  cache.set(entry, { around: id, rows });
  return rows;
}

class Builder {
  private readonly rows: Row[] = [];
  private texts = 0;
  private thoughts = 0;

  constructor(
    private readonly entry: Entry,
    private readonly around: Around,
  ) {}

  private add(name: string, body: Body): void {
    const tone = this.entry.message.role === "user" ? "user" : "reply";
    this.rows.push({ key: `${this.entry.key}/${name}`, entry: this.entry, tone, edge: "", ...body } as Row);
  }

  private isOpen(part: string): boolean {
    return this.around.expanded.has(expandKey(this.entry, part));
  }

  stored(): Row[] {
    const { message } = this.entry;
    if (message.blocks.length > 0 && this.around.joined?.size === message.blocks.length) return [];
    const outside = !message.inView && message.seq > 0;
    if (outside && !this.isOpen("all")) {
      this.add("folded", { kind: "folded" });
      return this.finish();
    }
    this.add("head", { kind: "head", continued: this.around.continued });
    message.blocks.forEach((block, i) => this.block(block, i));
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

  private block(block: Block, i: number): void {
    switch (block.type) {
      case "text":
        if (!this.patched(i, 0)) this.text(block.text ?? "", i);
        break;
      case "thinking":
        this.thinking(block.text ?? "");
        break;
      case "image":
        if (!this.patched(i, 0)) this.add(`image${i}`, { kind: "picture", block });
        break;
      case "resource":
        if (!this.patched(i, 0)) this.add(`resource${i}`, { kind: "resource", block });
        break;
      case "tool_call": {
        const { callId, name, args = "", incomplete = false } = block;
        this.add(callName(callId), { kind: "call", callId, name, args, incomplete, open: this.isOpen(callName(callId)) });
        break;
      }
      case "tool_result":
        if (this.around.joined?.has(i)) break;
        (block.content ?? []).forEach((part, j) => {
          if (this.patched(i, j)) return;
          if (part.type === "image") this.add(`result${i}.${j}`, { kind: "picture", block: part });
          else this.add(`result${i}.${j}`, { kind: "result", text: part.text ?? "", isError: block.isError ?? false });
        });
        break;
    }
  }

  /** Adds a row for the patch of a block, if it has one. Reports whether the original stays hidden. */
  private patched(block: number, part: number): boolean {
    const { view, blocks } = this.entry.message;
    const patch = view?.patches?.find((p) => p.block === block && p.part === part);
    if (!patch) return false;
    this.add(`patch${block}.${part}`, { kind: "patched", block, part, text: patch.text, label: patchLabel(patch.state, isPicture(blocks[block], part)) });
    return !this.isOpen(`patch${block}.${part}`);
  }

  private text(text: string, block: number): void {
    const all = segments(text);
    all.forEach((segment, at) => this.add(`p${this.texts++}`, { kind: "segment", segment, all, at, block }));
  }

  private thinking(text: string): void {
    const n = this.thoughts++;
    const part = thinkingName(n);
    const open = this.isOpen(part);
    this.add(part, { kind: "thinking", chars: text.length, part, open });
    if (open) segments(text).forEach((segment, at) => this.add(`t${n}.${at}`, { kind: "thought", segment }));
  }
}

/** callName and thinkingName name rows; the same for a reply while it streams and when it is stored. */
export const callName = (callId: string): string => `call ${callId}`;
export const thinkingName = (n: number): string => `thinking${n || ""}`;

/** The rows of the parts of a streaming reply that do not change any more: each is created once. */
const liveCache = new WeakMap<LivePart, Row[]>();

function liveRows(entry: Entry, live: LiveText, { expanded, continued }: Around): readonly Row[] {
  const base = { entry, tone: "reply", edge: "" } as const;
  const keyed = (name: string) => ({ ...base, key: `${entry.key}/${name}` });
  const rows: Row[] = [{ ...keyed("head"), kind: "head", continued, edge: "first" }];
  const last = live.parts.at(-1);
  let texts = 0;
  let thoughts = 0;
  for (const part of live.parts) {
    switch (part.kind) {
      case "call": {
        const open = expanded.has(expandKey(entry, callName(part.callId)));
        rows.push({ ...keyed(callName(part.callId)), kind: "call", callId: part.callId, name: part.name, args: "", incomplete: false, open });
        break;
      }
      case "text": {
        const from = texts;
        for (const row of grown(part, (segment, at) => ({ ...keyed(`p${from + at}`), kind: "segment", segment, all: part.text.done, at }))) rows.push(row);
        texts += part.text.done.length;
        if (part === last) rows.push({ ...keyed(`p${texts}`), kind: "tail", live, run: part });
        break;
      }
      case "thought": {
        const n = thoughts++;
        const name = thinkingName(n);
        const open = expanded.has(expandKey(entry, name));
        rows.push({ ...keyed(name), kind: "thinking", chars: part.chars, part: name, open, streams: { live, run: part, grows: part === last } });
        if (!open) break;
        for (const row of grown(part, (segment, at) => ({ ...keyed(`t${n}.${at}`), kind: "thought", segment }))) rows.push(row);
        if (part === last) rows.push({ ...keyed(`t${n}.${part.text.done.length}`), kind: "tail", live, run: part });
        break;
      }
    }
  }
  if (last === undefined) rows.push({ ...keyed(`p${texts}`), kind: "tail", live, run: null });
  return rows;
}

/** grown returns the rows of the finished segments of a run. */
function grown(run: LiveRun, make: (segment: Segment, at: number) => Row): readonly Row[] {
  let rows = liveCache.get(run);
  if (!rows) liveCache.set(run, (rows = []));
  for (let at = rows.length; at < run.text.done.length; at++) {
    const segment = run.text.done[at];
    if (segment) rows.push(make(segment, at));
  }
  return rows;
}

/** Shown is all that the conversation shows. */
export interface Shown {
  entries: readonly Entry[];
  /** Messages after the entries. */
  tail: readonly Entry[];
  summary: Summary | undefined;
  results: Results;
  plan: ShownPlan | null;
  /** The id of the running turn, "" for none. */
  running: string;
  /** A call of the running turn has no result yet. */
  calling: boolean;
  /** Nothing runs, and the newest messages are loaded. */
  idle: boolean;
  expanded: Expanded;
}

/** allRows returns the rows of a transcript. The summary is before the first message in the view. */
export function allRows(shown: Shown): Row[] {
  const rows: Row[] = [];
  let pendingSummary = shown.summary;
  const groups = repliesOf([...shown.entries, ...shown.tail]);
  const planned = shown.plan === null ? undefined : groups.findLast((g) => turnOf(g) === shown.plan?.turnId);
  const ended = new EndedRows(shown);
  const add = (row: Row | null): void => {
    if (row) rows.push(row);
  };
  for (const group of groups) {
    add(ended.before(group));
    if (pendingSummary && group.some((e) => e.message.inView)) {
      rows.push({ key: "summary", kind: "summary", summary: pendingSummary });
      pendingSummary = undefined;
    }
    addReply(rows, group, shown);
    if (shown.plan && group === planned) addPlan(rows, group, shown.plan);
  }
  add(ended.last());
  if (pendingSummary) rows.push({ key: "summary", kind: "summary", summary: pendingSummary });
  return rows;
}

/** turnOf returns the turn of a reply, "" for other messages. */
const turnOf = (group: readonly Entry[]): string => (group[0]?.message.role === "user" ? "" : (group[0]?.message.turnId ?? ""));

/** repliesOf groups the messages of each reply. Every other message is a group. */
function repliesOf(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const group = groups.at(-1);
    if (group && entry.message.role !== "user" && entry.message.turnId && entry.message.turnId === turnOf(group)) group.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

/** The least number of calls of a finished turn whose steps are folded. */
const FOLDED_CALLS = 5;

/** addReply adds the rows of a reply: of its steps, which are folded if there are many, and of its last message. */
function addReply(rows: Row[], group: readonly Entry[], shown: Shown): void {
  const steps = shown.running !== "" && turnOf(group) === shown.running ? [] : foldable(group);
  const folded = steps.length > 0 ? stepsRow(steps, shown) : null;
  if (folded) rows.push(folded);
  let continued = folded !== null;
  for (const entry of folded && !folded.open ? group.slice(steps.length) : group) {
    for (const row of rowsOf(entry, { expanded: shown.expanded, continued, joined: shown.results.joined.get(entry) })) rows.push(row);
    continued = continued || entry.message.role === "assistant";
  }
  const last = group.at(-1);
  const files = changedFiles(group, shown);
  if (last && files > 0) rows.push({ key: `${turnOf(group)}/changes`, entry: last, tone: "reply", edge: "", kind: "changes", turnId: turnOf(group), files });
  const waits = shown.running !== "" && turnOf(group) === shown.running && !shown.calling && group.every((e) => !e.live);
  if (last && waits) rows.push({ key: `${last.key}/waiting`, entry: last, tone: "reply", edge: "", kind: "waiting" });
}

/** The tools that change files. */
const changing: ReadonlySet<string> = new Set(["edit_file", "write_file", "delete_file", "move_file"]);

/** changedFiles returns the number of files that a finished turn has changed, 0 for a reply that is not in the view. */
function changedFiles(group: readonly Entry[], { running, results }: Shown): number {
  const turn = turnOf(group);
  if (turn === "" || turn === running || !group.some((e) => e.message.inView)) return 0;
  const paths = new Set<string>();
  for (const entry of group) {
    for (const block of entry.message.blocks) {
      const result = block.type === "tool_call" && changing.has(block.name) ? results.of.get(resultKey(entry, block.callId))?.block : undefined;
      if (!result || (result.isError && result.call?.outcome !== "lost")) continue;
      const [from, to] = result.call?.locations ?? [];
      if (from && to) paths.delete(from.path); // a file that was moved
      const path = (to ?? from)?.path;
      if (path !== undefined) paths.add(path);
    }
  }
  return paths.size;
}

/** foldable returns the messages of a reply before its last one of the model, if they have enough calls. */
function foldable(group: readonly Entry[]): readonly Entry[] {
  const last = group.findLastIndex((e) => e.message.role === "assistant");
  const steps = group.slice(0, Math.max(last, 0));
  return callsOf(steps).length >= FOLDED_CALLS ? steps : [];
}

const callsOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap((e) => e.message.blocks.flatMap((b) => (b.type === "tool_call" ? [resultKey(e, b.callId)] : [])));

function stepsRow(steps: readonly Entry[], shown: Shown): Extract<Row, { kind: "steps" }> | null {
  const entry = steps.find((e) => e.message.role === "assistant");
  if (!entry) return null;
  const turnId = entry.message.turnId ?? "";
  const calls = callsOf(steps);
  const failed = calls.filter((key) => shown.results.of.get(key)?.block.isError).length;
  const part = stepsKey(turnId);
  return { key: `${turnId}/steps`, entry, tone: "reply", edge: "first", kind: "steps", part, calls: calls.length, failed, open: shown.expanded.has(part) };
}

function addPlan(rows: Row[], group: readonly Entry[], plan: ShownPlan): void {
  const last = group.at(-1);
  if (!last || (!last.message.inView && last.message.seq > 0)) return;
  rows.push({ key: `${plan.turnId}/plan`, entry: last, tone: "reply", edge: "", kind: "plan", entries: plan.entries });
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
      return row.continued ? 20 : 40;
    case "folded":
      return 34;
    case "result":
      return Math.min(text(row.text, 19, 7.4), 160) + 24;
    case "picture":
      return 200;
    case "call":
      return row.open ? 300 : 30;
    case "plan":
      return 36 + 24 * row.entries.length;
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
      block.type === "text" ? plain((block.text ?? "").slice(0, 1000))
      : block.type === "resource" ? block.text
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
