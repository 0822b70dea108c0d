import type { RestoredFile, RestoredFiles, TurnChange } from "@strata/client";
import { place } from "../conversation/calls.ts";
import { plural } from "../text/format.ts";
import { visible } from "../text/visible.ts";

export const kindWords: Record<TurnChange["kind"], string> = { create: "New file", edit: "Edited", delete: "Deleted", move: "Moved" };

const states: Record<TurnChange["state"], string> = {
  planned: "Not finished", done: "Done", not_done: "Not done", unknown: "Outcome unknown", restored: "Taken back",
};

/** statesOf returns the states of changes in words: "Done", or "Done: 2, taken back: 1". */
export function statesOf(changes: readonly TurnChange[]): string {
  const counts = new Map<string, number>();
  for (const { state } of changes) counts.set(states[state] ?? state, (counts.get(states[state] ?? state) ?? 0) + 1);
  const words = [...counts];
  if (words.length === 1) return words[0]?.[0] ?? "";
  return words.map(([word, n], i) => `${i === 0 ? word : word.toLowerCase()}: ${n}`).join(", ");
}

/** stays reports whether a file stays as it is, although it should change. */
export const stays = ({ outcome }: RestoredFile): boolean => outcome === "conflict" || outcome === "unavailable";

/** isPlain reports whether all files are put back, so that there is nothing to tell before. */
export const isPlain = ({ files, omitted = 0 }: RestoredFiles): boolean => omitted === 0 && !files.some(stays);

const reasons: Record<NonNullable<RestoredFile["reason"]>, string> = {
  changed: "somebody else changed it", missing: "somebody else removed it", exists: "somebody else made a file at its path",
  between: "somebody else changed it between two of the changes", linked: "it was moved to or from a file that stays",
  later: "a later change of it is in force", failed: "it cannot be written",
};

const effects: Record<NonNullable<RestoredFile["change"]>, string> = { put_back: "is put back", created: "is made again", deleted: "is removed", moved: "moves" };

/** outcomeWords returns what becomes of a file, in words. */
export function outcomeWords(file: RestoredFile, folder: string): string {
  switch (file.outcome) {
    case "restored":
      return file.change === "moved" && file.to ? `moves to ${place({ path: file.to }, folder)}` : effects[file.change ?? "put_back"];
    case "unchanged":
      return "is already as it should be";
    case "unavailable":
      return "stays: its former content is no longer stored";
    case "conflict":
      return `stays: ${reasons[file.reason ?? "changed"] ?? file.reason}${file.detail ? ` (${visible(file.detail).slice(0, MAX_DETAIL)})` : ""}`;
  }
}

/** Characters of the detail of a failure. */
const MAX_DETAIL = 300;

/** doneWords returns what became of files, in a sentence or two. */
export function doneWords(done: RestoredFiles, forward: boolean, folder: string): string {
  const back = done.files.filter((f) => !stays(f)).length + (done.omitted ?? 0);
  const kept = done.files.filter(stays);
  const verb = forward ? "put forward" : "put back";
  const first = kept[0];
  const parts = back > 0 || !first ? [`${plural(back, "file")} ${verb}.`] : [];
  if (first) {
    const more = kept.length > 1 ? ` ${plural(kept.length - 1, "more file stays", "more files stay")}.` : "";
    parts.push(`${place({ path: first.path }, folder)} ${outcomeWords(first, folder)}.${more}`);
  }
  return parts.join(" ");
}
