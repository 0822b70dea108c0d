import { useMemo } from "preact/hooks";
import { painted } from "../code/code.tsx";
import { count, plural } from "../text/format.ts";
import { visible } from "../text/visible.ts";
import { Cut } from "../ui/cut.tsx";
import { useWhole } from "../ui/whole.ts";
import { place } from "./calls.ts";
import { useDiffColors, type LineColors } from "./diff-colors.ts";
import { rowsOfDiff, sizeOf, type DiffRow, type ShownDiff } from "./diffs.ts";

/** Lines of a long diff that are shown at first, and at most. */
const SHOWN_LINES = 60;
const MAX_LINES = 5000;

/** The changes of files, each as its removed and added lines. */
export function Diffs({ diffs, folder }: { diffs: readonly ShownDiff[]; folder: string }) {
  return <>{diffs.map((diff) => <Diff key={diff.path} diff={diff} folder={folder} />)}</>;
}

const states = { new: "New file", changed: "", deleted: "Deleted" } as const;

/** The change of one file. */
export function Diff({ diff, folder }: { diff: ShownDiff; folder: string }) {
  const [all, setAll] = useWhole();
  const rows = useMemo(() => rowsOfDiff(diff), [diff]);
  const { added, removed } = useMemo(() => sizeOf(rows), [rows]);
  const colors = useDiffColors(diff, rows);
  const path = place({ path: diff.path }, folder);
  const more = Math.min(rows.length, MAX_LINES) - SHOWN_LINES;
  return (
    <section class="diff" aria-label={`Changes of ${path}`}>
      <p class="diff-head">
        <bdi class="diff-path cut" title={path}><Cut text={path} /></bdi>
        {states[diff.state] !== "" && <span class="mark">{states[diff.state]}</span>}
        <span class="diff-size">
          <span aria-hidden="true">+{count(added)} −{count(removed)}</span>
          <span class="hidden">{plural(added, "line")} added, {count(removed)} removed</span>
        </span>
      </p>
      <pre class="diff-lines" tabIndex={0} aria-label={`Lines of ${path}`}>
        {rows.slice(0, all ? MAX_LINES : SHOWN_LINES).map((row, i) => <Line key={i} row={row} colors={colors[i]} />)}
      </pre>
      {more > 0 && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer lines" : `Show ${plural(more, "more line", "more lines")}`}
        </button>
      )}
      {(diff.cut || rows.length > MAX_LINES) && <p class="note">The diff is too long: not all of its lines are shown.</p>}
    </section>
  );
}

function Line({ row, colors }: { row: DiffRow; colors: LineColors | undefined }) {
  if (row.sign === "gap") return <span class="diff-gap" aria-hidden="true">⋯</span>;
  const content = (
    <>
      {row.number !== undefined && <span class="diff-number" aria-hidden="true">{row.number}</span>}
      <span class="diff-sign">{row.sign}</span>
      <span class="diff-text">{painted(row.text, colors?.runs, colors?.from, visible)}{row.open && <span class="quiet"> (no newline at the end)</span>}</span>
    </>
  );
  switch (row.sign) {
    case "+":
      return <ins class="diff-line">{content}</ins>;
    case "-":
      return <del class="diff-line">{content}</del>;
    default:
      return <span class="diff-line">{content}</span>;
  }
}
