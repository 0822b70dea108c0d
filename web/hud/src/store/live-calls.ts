import { signal } from "@preact/signals";
import type { CallOutcome, ToolCall, ToolCallUpdate } from "@strata/client";

/** LiveCall is what updates report of a call whose result is not stored. */
export type LiveCall = Omit<ToolCallUpdate, "sessionUpdate" | "toolCallId" | "_meta"> & { outcome?: CallOutcome };

/** Maximum number of live calls. The one that changed least recently is dropped. */
const MAX_LIVE_CALLS = 200;

/** LiveCalls holds the calls of a running turn whose results are not loaded yet, by their ids. */
export class LiveCalls {
  readonly all = signal<ReadonlyMap<string, LiveCall>>(new Map());

  update({ sessionUpdate: _, toolCallId, _meta, ...changed }: ToolCall | ToolCallUpdate): void {
    const outcome = _meta && "outcome" in _meta.strata ? { outcome: _meta.strata.outcome } : {};
    const all = new Map(this.all.peek());
    const known = all.get(toolCallId);
    all.delete(toolCallId);
    all.set(toolCallId, { ...known, ...changed, ...outcome });
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
