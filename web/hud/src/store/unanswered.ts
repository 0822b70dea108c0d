import type { Entry } from "./transcript.ts";

/** Unanswered is the newest prompt, whose turn ended without a complete reply. */
export interface Unanswered {
  prompt: Entry;
  /** Steps of the turn are finished. The server keeps them if the same prompt is sent again. */
  steps: boolean;
  /** The server stores the same prompt a second time, because the view does not show it unchanged. */
  changed: boolean;
}

/** unanswered returns the newest prompt if nothing of the view follows it, or if only finished steps and a reply that broke off do. */
export function unanswered(entries: readonly Entry[]): Unanswered | null {
  const view = entries.filter((e) => e.message.inView);
  let end = view.length - 1;
  if (brokeOff(view[end]) && view[end - 1]?.message.role === "tool") end--;
  const at = view.findLastIndex((e) => e.message.role === "user");
  const prompt = view[at];
  const last = view[end]?.message;
  const steps = at < end && last?.role === "tool" && last.turnId !== undefined;
  if (!prompt?.message.turnId || (at !== end && !steps)) return null;
  return { prompt, steps, changed: (prompt.message.view?.patches?.length ?? 0) > 0 };
}

function brokeOff(entry: Entry | undefined): boolean {
  return entry?.message.role === "assistant" && (entry.message.status ?? "complete") !== "complete";
}
