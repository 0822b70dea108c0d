import { useMemo } from "preact/hooks";
import { useRuns } from "../code/code.tsx";
import type { Runs } from "../code/colors.ts";
import type { DiffRow, ShownDiff } from "./diffs.ts";

/** LineColors are the runs of a text and the offset of a line in it. */
export interface LineColors {
  runs: Runs | undefined;
  from: number;
}

/** useDiffColors returns the colors of the lines of a change: of removed lines those in the old text. */
export function useDiffColors(diff: ShownDiff, rows: readonly DiffRow[]): readonly (LineColors | undefined)[] {
  const { old, now, places } = useMemo(() => textsOf(rows), [rows]);
  const before = useRuns(diff.path, old);
  const after = useRuns(diff.path, now);
  return useMemo(() => places.map((p) => p && { runs: p.old ? before : after, from: p.from }), [places, before, after]);
}

/** textsOf returns the old and the new lines, without those between hunks, and the place of each row in one of them. */
function textsOf(rows: readonly DiffRow[]): { old: string; now: string; places: readonly ({ old: boolean; from: number } | undefined)[] } {
  const old: string[] = [];
  const now: string[] = [];
  const ends = { old: 0, now: 0 };
  const places = rows.map((row) => {
    if (row.sign === "gap") return undefined;
    const place = row.sign === "-" ? { old: true, from: ends.old } : { old: false, from: ends.now };
    if (row.sign !== "+") ends.old += old.push(row.text) && row.text.length + 1;
    if (row.sign !== "-") ends.now += now.push(row.text) && row.text.length + 1;
    return place;
  });
  return { old: old.join("\n"), now: now.join("\n"), places };
}
