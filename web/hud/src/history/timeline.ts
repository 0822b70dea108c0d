import type { Checkpoint, ListedEdit } from "@strata/client";
import { plural } from "../text/format.ts";
import { isPictureReason, reasonText } from "../text/reasons.ts";
import type { Row } from "../ui/virtual-list.tsx";

/** An edit of the view, a checkpoint, or the button that loads older edits. */
export type TimelineRow = Row & { seq: number; at: string } & (
  | { kind: "edit"; edit: ListedEdit; title: string; undoable: boolean }
  | { kind: "checkpoint"; checkpoint: Checkpoint }
  | { kind: "older" }
);

/** The kinds of edits that can be undone. An undo cannot. */
const undoables = new Set(["clear", "compact", "restore"]);

/**
 * timeline returns the rows, newest first. A checkpoint is newer than the edit with the same sequence number, whose state
 * it names. While older edits are not loaded, checkpoints older than the loaded edits are omitted.
 */
export function timeline(edits: readonly ListedEdit[], checkpoints: readonly Checkpoint[], older: boolean): TimelineRow[] {
  const undo = edits.findLast((e) => e.inForce && undoables.has(e.kind) && !e.undoes);
  const first = older ? edits[0]?.seq ?? 0 : 0;
  const names = new Map(checkpoints.map((c) => [c.seq, c.name]));
  const rows: TimelineRow[] = [
    ...edits.map((edit): TimelineRow => ({ key: edit.id, kind: "edit", seq: edit.seq, at: edit.at, edit, title: titleOf(edit, names), undoable: edit === undo })),
    ...checkpoints.filter((c) => c.seq >= first)
      .map((checkpoint): TimelineRow => ({ key: checkpoint.checkpointId, kind: "checkpoint", seq: checkpoint.seq, at: checkpoint.at, checkpoint })),
  ];
  const late = (m: TimelineRow): number => (m.kind === "checkpoint" ? 1 : 0);
  rows.sort((a, b) => b.seq - a.seq || late(b) - late(a) || b.at.localeCompare(a.at));
  if (older) rows.push({ key: "older", kind: "older", seq: 0, at: "" });
  return rows;
}

/** The kinds of edits, in words. */
export const titles: Record<ListedEdit["kind"], string> = {
  compact: "History compacted", dedupe: "Duplicates removed", truncate: "Reduced to fit", replace: "History replaced", clear: "History cleared", restore: "Restored",
  unanswered: "Prompt failed without a reply", resume: "Turn went on after a failure", result: "Late tool result",
};

/** The undone change, by the last word of the reason of the undo. */
const undone: Record<string, string> = { compact: "Compaction", clear: "Clear", restore: "Restore" };

/** The reason of an edit with which omitted items return, because there is room again. */
const returned = "room_again";

/** titleOf returns the title of an edit. names are the names of checkpoints by sequence number. */
export function titleOf(edit: ListedEdit, names: ReadonlyMap<number, string>): string {
  if (edit.reason === returned) return "Returned to the view";
  if (edit.undoes) return `${undone[edit.reason?.split(" ").at(-1) ?? ""] ?? "Change"} undone`;
  const name = names.get(edit.to ?? 0);
  if (edit.kind === "restore") return `Restored ${name === undefined ? `position ${edit.to ?? 0}` : `“${name}”`}`;
  if (edit.patches?.length && edit.patches.every((p) => isPictureReason(p.origin ?? ""))) return "Pictures omitted";
  return titles[edit.kind] ?? edit.kind;
}

/** sizesOf returns the tokens of the history before and after an edit, null if the edit has neither. */
export function sizesOf(edit: ListedEdit): { before: number; after: number } | null {
  if (edit.before === undefined && edit.after === undefined) return null;
  return { before: edit.before ?? 0, after: edit.after ?? Math.max((edit.before ?? 0) - (edit.kind === "restore" ? 0 : edit.savedTokens ?? edit.before ?? 0), 0) };
}

/** detailsOf returns further facts of an edit, in words. */
export function detailsOf(edit: ListedEdit): string[] {
  const details: string[] = [];
  if (edit.strategy) details.push(edit.strategy);
  const add = (n: number, one: string, what: string): void => {
    if (n > 0) details.push(`${plural(n, one)} ${what}`);
  };
  const pictures = edit.patches?.filter((p) => isPictureReason(p.origin ?? "")).length ?? 0;
  add(edit.messages?.length ?? 0, "message", "removed from the view");
  add((edit.patches?.length ?? 0) - pictures, "block", edit.kind === "dedupe" ? "replaced by a reference" : "truncated");
  add(pictures, "picture", "omitted");
  add(edit.documents?.length ?? 0, "document", edit.reason === returned ? "complete again" : "truncated");
  if (edit.reason && !edit.undoes && edit.reason !== "asked for") details.push(reasonText(edit.reason));
  return details;
}
