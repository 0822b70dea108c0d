import type { ItemChange, NotKept, RequestComparison, SentItem } from "@strata/client";
import { sentence } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";

/** Reasons for changes between two requests. */
const reasons: Record<string, string> = {
  unused: "no longer needed", rebuilt: "moved by a rebuild", whole: "its file is now sent in full", outlined: "only its outline remains",
  replaced: "replaced by a newer summary", clear: "the history was cleared", replace: "the history was replaced",
  restore: "an earlier state was restored", resume: "the prompt was sent again", dedupe: "duplicate of a file",
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
  base: "file of the session", diff: "change of a file that was sent before", note: "lists the available files", summary: "replaces earlier messages",
  message: "part of the conversation",
};

/** whyIn returns why a request contains an item. */
export function whyIn(item: SentItem): string {
  if (item.dead) return "no longer needed, sent until the next rebuild";
  if (item.key === "summary:omitted") return "lists the omitted items";
  return item.reason ? `file, ${reasonText(item.reason)}` : (contained[item.kind] ?? item.kind);
}

/** Why a request is not kept. */
export const notKept: Record<NotKept, string> = {
  purpose: "The request of a compaction contains no items, only the text to summarize.",
  expired: "It was deleted after the time in storage.request_age.",
  interrupted: "The server stopped during the call.",
  not_kept: "It was deleted to save space, it comes from an earlier version of Strata, or the session is a fork or an import.",
  first: "There is no earlier request with the same purpose.",
};

/** basisOf returns the source of the tokens that were read anew. */
export const basisOf = ({ anew }: RequestComparison): string => (anew.basis === "reported" ? "reported by the provider" : "counted by Strata");
