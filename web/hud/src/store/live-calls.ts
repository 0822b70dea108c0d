import { signal } from "@preact/signals";
import type { CallOutcome, ToolCall, ToolCallUpdate } from "@strata/client";
import { LiveOutput } from "./live-output.ts";

/** LiveCall is what updates report of a call whose result is not stored. */
export type LiveCall = Omit<ToolCallUpdate, "sessionUpdate" | "toolCallId" | "_meta"> & {
  outcome?: CallOutcome;
  /** Its output while it runs. */
  output?: LiveOutput;
};

/** Maximum number of live calls. The one that changed least recently is dropped. */
const MAX_LIVE_CALLS = 200;

/** LiveCalls holds the calls of a running turn whose results are not loaded yet, by their ids. */
export class LiveCalls {
  readonly all = signal<ReadonlyMap<string, LiveCall>>(new Map());

  update(update: ToolCall | ToolCallUpdate): void {
    if (update._meta?.strata.output && update.status === "in_progress") return this.grow(update, update._meta.strata.output.end);
    const { sessionUpdate: _, toolCallId, _meta, ...changed } = update;
    const outcome = _meta && "outcome" in _meta.strata ? { outcome: _meta.strata.outcome } : {};
    this.put(toolCallId, { ...changed, ...outcome });
  }

  /** grow shows output. An update that changes nothing else renders only the output again. */
  private grow({ sessionUpdate: _, toolCallId, _meta, content, ...changed }: ToolCall | ToolCallUpdate, end: number): void {
    const known = this.all.peek().get(toolCallId);
    const output = known?.output ?? new LiveOutput();
    if (!known?.output || known.status !== changed.status || known.title !== changed.title) this.put(toolCallId, { ...changed, content: [], output });
    const newest = content?.find((part) => part.type === "content")?.content;
    output.grow(newest?.type === "text" ? newest.text : "", end);
  }

  private put(callId: string, changed: LiveCall): void {
    const all = new Map(this.all.peek());
    const known = all.get(callId);
    all.delete(callId);
    all.set(callId, { ...known, ...changed });
    const oldest = all.keys().next();
    if (all.size > MAX_LIVE_CALLS && !oldest.done) all.delete(oldest.value);
    this.all.value = all;
  }

  /** open returns the ids of the calls without a result. */
  open(): string[] {
    return [...this.all.value].flatMap(([id, { status }]) => (status === "pending" || status === "in_progress" ? [id] : []));
  }

  /** drop drops the calls with the given ids. */
  drop(callIds: Iterable<string>): void {
    const all = new Map(this.all.peek());
    let dropped = false;
    for (const id of callIds) dropped = all.delete(id) || dropped;
    if (dropped) this.all.value = all;
  }

  clear(): void {
    if (this.all.peek().size > 0) this.all.value = new Map();
  }
}
