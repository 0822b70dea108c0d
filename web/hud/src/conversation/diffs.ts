import type { FileDiff, ToolContent, ToolDiff } from "@strata/client";
import { linesOf, type DiffLine, type Hunk } from "../text/diff.ts";

/** ShownDiff is the change of one file. */
export interface ShownDiff {
  path: string;
  state: "new" | "changed" | "deleted";
  hunks: readonly Hunk[];
  /** The server omitted lines for their size. */
  cut: boolean;
}

const fromUpdates = new WeakMap<readonly ToolContent[], readonly ShownDiff[]>();

/** diffsOf returns the changes in the content of a call, the same objects for the same content. */
export function diffsOf(content: readonly ToolContent[]): readonly ShownDiff[] {
  let diffs = fromUpdates.get(content);
  if (!diffs) fromUpdates.set(content, (diffs = byFile(content.filter((part) => part.type === "diff"))));
  return diffs;
}

/** byFile joins the hunks of each file. */
function byFile(parts: readonly ToolDiff[]): ShownDiff[] {
  const files = new Map<string, ShownDiff & { hunks: Hunk[] }>();
  for (const { path, oldText, newText, _meta } of parts) {
    const { oldLine, newLine, deleted, cut } = _meta?.strata ?? {};
    const file = files.get(path) ?? { path, state: "changed", hunks: [], cut: false };
    if (oldText === null || oldText === undefined) file.state = "new";
    if (deleted) file.state = "deleted";
    file.cut ||= cut === true;
    file.hunks.push({ old: oldText ?? "", new: newText, oldStart: oldLine, newStart: newLine });
    files.set(path, file);
  }
  return [...files.values()];
}

const fromStored = new WeakMap<readonly FileDiff[], readonly ShownDiff[]>();

/** storedDiffs returns the changes that are stored with a result, the same objects for the same result. */
export function storedDiffs(stored: readonly FileDiff[]): readonly ShownDiff[] {
  let diffs = fromStored.get(stored);
  if (!diffs) fromStored.set(stored, (diffs = stored.map(shownOf)));
  return diffs;
}

/** shownOf returns a stored change of one file. */
export const shownOf = ({ path, created, deleted, hunks, cut = false }: FileDiff): ShownDiff => ({
  path, cut, state: created ? "new" : deleted ? "deleted" : "changed",
  hunks: hunks.map(({ old = "", new: now = "", oldStart, newStart }) => ({ old, new: now, oldStart, newStart })),
});

/** NumberedLine is a line with its number in the new text, for a removed line that in the old one. */
export type NumberedLine = DiffLine & { number?: number };

/** numbered returns the lines of a hunk with their numbers, if those are known. */
export function numbered(hunk: Hunk): NumberedLine[] {
  let { oldStart: old = 0, newStart: now = 0 } = hunk;
  const known = hunk.oldStart !== undefined && hunk.newStart !== undefined;
  return linesOf(hunk).map((line) => {
    const number = line.sign === "-" ? old : now;
    if (line.sign !== "+") old++;
    if (line.sign !== "-") now++;
    return known ? { ...line, number } : line;
  });
}

/** Gap stands for the unchanged lines between two hunks. */
export type DiffRow = NumberedLine | { sign: "gap" };

/** rowsOfDiff returns all lines of a change, with a gap between two hunks. */
export const rowsOfDiff = (diff: ShownDiff): DiffRow[] =>
  diff.hunks.flatMap((hunk, i): DiffRow[] => (i === 0 ? numbered(hunk) : [{ sign: "gap" }, ...numbered(hunk)]));

/** sizeOf returns how many lines a change adds and removes. */
export const sizeOf = (rows: readonly DiffRow[]): { added: number; removed: number } => ({
  added: rows.filter((row) => row.sign === "+").length,
  removed: rows.filter((row) => row.sign === "-").length,
});
