import type { ItemChange, NotKept, RequestComparison, SentItem } from "@strata/client";
import { sentence } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";

/** Reasons for changes between two requests. */
const reasons: Record<string, string> = {
  unused: "no longer needed", rebuilt: "laid out again", whole: "its file is sent in full now", outlined: "removed, its outline remains",
  replaced: "replaced by a newer summary", clear: "the history was cleared", replace: "the history was replaced",
  restore: "an earlier state was restored", resume: "the prompt was sent again", dedupe: "a copy of a file",
};

/** reasonOf returns the reason of a change in words. */
export const reasonOf = (code: string): string => reasons[code] ?? reasonText(code);

/** changeWords returns what happened to an item and why, such as "Removed: over budget" or "Edited". */
export function changeWords(change: ItemChange, reason: string): string {
  const words = reasonOf(reason);
  if (reason === "" || reason === change) return sentence(change);
  return reason === "new" || reason === "edited" ? sentence(words) : `${sentence(change)}: ${words}`;
}

/** Why a request contains an item of a kind. */
const contained: Record<string, string> = {
  system: "instructions of the session", tools: "definitions of the tools", document: "document of the session", outline: "outline of a file",
  base: "file of the session", diff: "change of a file that was sent before", note: "tells which files are available", summary: "replaces earlier messages",
  message: "part of the conversation",
};

/** whyIn returns why a request contains an item. */
export function whyIn(item: SentItem): string {
  if (item.dead) return "no longer needed, leaves with the next rebuild";
  if (item.key === "summary:omitted") return "tells what is omitted";
  return item.reason ? `file, ${reasonText(item.reason)}` : (contained[item.kind] ?? item.kind);
}

/** Why a request is not kept. */
export const notKept: Record<NotKept, string> = {
  purpose: "A call of a compaction contains no items: its request is the text to summarize.",
  expired: "It is older than the time for which requests are kept, set by storage.request_age.",
  interrupted: "The server stopped during the call.",
  not_kept: "It was deleted to save space, sent by an earlier version of Strata, or the session was imported or forked.",
  first: "There is no earlier request of its kind.",
};

/** basisOf says where the tokens that were read anew are from. */
export const basisOf = ({ anew }: RequestComparison): string => (anew.basis === "reported" ? "reported by the provider" : "counted by Strata");
