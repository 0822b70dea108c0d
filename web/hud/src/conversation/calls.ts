import type { Block, ContentBlock, PlanEntry, ToolContent, ToolLocation } from "@strata/client";
import type { LiveCall } from "../store/live-calls.ts";
import type { LiveOutput } from "../store/live-output.ts";
import type { StoredResult } from "../store/tool-calls.ts";
import { commandOf, ended, type CommandLine, type Ended } from "./command.ts";
import { diffsOf, storedDiffs, type ShownDiff } from "./diffs.ts";

/** CallState is what the page shows of a tool call: of the stored message and result, or of updates. */
export interface CallState {
  title: string;
  kind: string;
  status: CallStatus;
  locations: readonly ToolLocation[];
  /** JSON, if it is complete; "" if unknown. */
  input: string;
  parts: readonly ResultPart[];
  /** The changes of files. */
  diffs: readonly ShownDiff[];
  /** The command that the call runs. */
  command?: CommandLine;
  /** How the command has ended. */
  ended?: Ended;
  /** The output so far of a call that runs. */
  output?: LiveOutput;
  /** The stored result, if there is one. */
  stored?: StoredResult;
}

export type CallStatus = "" | "pending" | "running" | "done" | "failed" | "cancelled" | "interrupted" | "not run" | "incomplete";

/** ResultPart is a text or a picture of a result. */
export type ResultPart = Extract<Block, { type: "text" | "image" }>;

/** The statuses of calls that the server gave a result instead of the tool. */
const outcomes = new Map<string, CallStatus>([
  ["cancelled", "cancelled"],
  ["interrupted", "interrupted"],
  ["lost", "interrupted"],
  ["not_run", "not run"],
]);

const liveStatuses = new Map<string, CallStatus>([["pending", "pending"], ["in_progress", "running"], ["completed", "done"], ["failed", "failed"]]);

const NONE: readonly never[] = [];

interface Announced {
  name: string;
  /** "" while it is unknown. */
  args: string;
  incomplete: boolean;
  /** The turn of the call runs. */
  running: boolean;
}

/** callState returns the state of a call. A stored result replaces what updates reported. */
export function callState(call: Announced, stored: StoredResult | undefined, live: LiveCall | undefined): CallState {
  const shown = stored ? stored.block.call : live;
  const parts = stored ? (stored.block.content ?? []) : (live?.content ?? []).flatMap(partOf);
  const kind = shown?.kind ?? "other";
  const input = call.args || inputOf(live);
  const command = commandOf(kind, input);
  const status = outcomes.get(shown?.outcome ?? "") ?? (stored ? (stored.block.isError ? "failed" : "done") : (liveStatuses.get(live?.status ?? "") ?? unsettled(call)));
  const end = command && !shown?.outcome && (status === "done" || status === "failed") ? ended(parts[0]) : undefined;
  return {
    title: oneLine(shown?.title || call.name),
    kind,
    status,
    locations: shown?.locations ?? [],
    input,
    parts,
    diffs: stored ? storedDiffs(stored.block.call?.diffs ?? NONE) : diffsOf(live?.content ?? NONE),
    ...(command ? { command } : {}),
    ...(end ? { ended: end } : {}),
    ...(status === "running" && live?.output ? { output: live.output } : {}),
    ...(stored ? { stored } : {}),
  };
}

function unsettled(call: Announced): CallStatus {
  if (call.incomplete) return "incomplete";
  return call.running ? "pending" : "";
}

/** inputOf returns the input of a call as JSON, "" if it is unknown. */
export function inputOf(live: Pick<LiveCall, "rawInput"> | undefined): string {
  return live?.rawInput === undefined ? "" : typeof live.rawInput === "string" ? live.rawInput : JSON.stringify(live.rawInput);
}

function partOf(part: ToolContent): ResultPart[] {
  if (part.type !== "content") return [];
  const { content } = part;
  const text = textOf(content);
  if (text !== undefined) return [{ type: "text", text }];
  return content.type === "image" ? [{ type: "image", data: content.data, mimeType: content.mimeType }] : [];
}

function textOf(content: ContentBlock): string | undefined {
  switch (content.type) {
    case "text":
      return content.text;
    case "resource":
      return content.resource.text ?? content.resource.uri;
    case "resource_link":
      return content.uri;
  }
  return undefined;
}

/** Characters of a text on one line. */
const MAX_LINE = 300;

/** oneLine returns the start of a text of a model or a tool as one line, without characters that change the direction of text. */
export const oneLine = (text: string): string =>
  text.slice(0, 2 * MAX_LINE).replace(/\p{Bidi_Control}/gu, "").replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim().slice(0, MAX_LINE);

/** place returns a location as "path:line", relative to the session's folder. */
export function place({ path, line }: ToolLocation, folder: string): string {
  const base = folder.replace(/[\\/]+$/, "");
  const inside = path.startsWith(base) && /^[\\/]./.test(path.slice(base.length));
  return oneLine(inside ? path.slice(base.length + 1) : path) + (line ? `:${line}` : "");
}

/** placeBeside returns the location of a call unless the title contains its path, "" for none. */
export function placeBeside(state: CallState, folder: string): string {
  const first = state.locations[0];
  if (!first || state.title.includes(place({ path: first.path }, folder))) return "";
  return place(first, folder) + (state.locations.length > 1 ? ` and ${state.locations.length - 1} more` : "");
}

/** progressOf returns how far a plan is, in words. */
export function progressOf(entries: readonly PlanEntry[]): string {
  return `${entries.filter((e) => e.status === "completed").length} of ${entries.length} done`;
}

/** indented returns the input of a call with an indentation, if it is JSON. */
export function indented(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input;
  }
}
