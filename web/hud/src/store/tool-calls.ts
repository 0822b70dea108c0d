import type { Block, PlanEntry } from "@strata/client";
import type { Entry } from "./transcript.ts";

export type ToolResult = Extract<Block, { type: "tool_result" }>;

/** StoredResult is a stored result, with its message and the index of its block. */
export interface StoredResult {
  entry: Entry;
  index: number;
  block: ToolResult;
}

/** Results are the loaded results of calls, joined to the calls. */
export interface Results {
  /** By the key of the call's entry and the call's id, see resultKey. */
  of: ReadonlyMap<string, StoredResult>;
  /** The result blocks whose calls are loaded, by their entries. */
  joined: ReadonlyMap<Entry, ReadonlySet<number>>;
}

export const resultKey = (entry: Entry, callId: string): string => `${entry.key} ${callId}`;

/** joinResults joins results to the newest call before them with the same id. Clients that append calls may repeat an id. */
export function joinResults(entries: readonly Entry[]): Results {
  const of = new Map<string, StoredResult>();
  const joined = new Map<Entry, Set<number>>();
  const open = new Map<string, Entry>();
  for (const entry of entries) {
    entry.message.blocks.forEach((block, index) => {
      if (block.type === "tool_call") open.set(block.callId, entry);
      if (block.type !== "tool_result") return;
      const caller = open.get(block.callId);
      if (!caller) return;
      open.delete(block.callId);
      of.set(resultKey(caller, block.callId), { entry, index, block });
      joined.set(entry, (joined.get(entry) ?? new Set()).add(index));
    });
  }
  return { of, joined };
}

/** ShownPlan is a plan of the model, and the turn in which it was made. */
export interface ShownPlan {
  turnId: string;
  entries: readonly PlanEntry[];
}

/** newestPlan returns the newest plan in the view, null for none. */
export function newestPlan(entries: readonly Entry[]): ShownPlan | null {
  for (let i = entries.length - 1; i >= 0; i--) {
    const message = entries[i]?.message;
    if (!message?.inView) continue;
    const made = message.blocks.findLast((b): b is ToolResult => b.type === "tool_result" && (b.call?.plan?.length ?? 0) > 0);
    if (made) return { turnId: message.turnId ?? "", entries: made.call?.plan ?? [] };
  }
  return null;
}
