import type { Located } from "@strata/client";
import { sentence } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";

const states: Record<Located["state"], string> = {
  whole: "Yes, in full", shortened: "Shortened", summarised: "Summarised", evicted: "Evicted to fit", not_in: "No",
};

/** stateText returns the answer in a few words. */
export const stateText = (l: Located): string => states[l.state] ?? sentence(l.state);

const strategies = new Set(["topic", "rolling", "prune", "middle", "window"]);

const rules: Record<string, string> = {
  taken_out: "It was taken out of the view", cleared: "The history was cleared", replaced: "The history was replaced", taken_back: "An undo or a restore returned to an earlier state",
  unanswered: "The prompt failed without a reply, and another followed", unfinished: "The reply broke off, and its prompt was sent again",
  not_added: "It was not added to the session", outline: "The request contains only its outline", lines: "Only some of its lines were added",
  over_budget: "The request would be too large: items of low priority are evicted first", duplicate: "A newer copy of the file is in the request", compaction: "A compaction removed it",
};

/** ruleText returns why something is not whole, in words. */
export function ruleText(rule: string): string {
  if (strategies.has(rule)) return `A compaction removed it: strategy ${rule}`;
  return rules[rule] ?? sentence(reasonText(rule));
}

/** textAnswer says whether the request has the selected text. */
export function textAnswer(text: NonNullable<Located["text"]>): string {
  if (text.here) return "The request contains this text.";
  return text.elsewhere ? "The request contains this text, but only in another item." : "The request does not contain this text.";
}
