import type { RestoredFile, RestoredFiles } from "@strata/client";
import { place } from "../conversation/calls.ts";
import { Diff } from "../conversation/diff.tsx";
import { shownOf } from "../conversation/diffs.ts";
import { plural } from "../text/format.ts";
import { Cut } from "../ui/cut.tsx";
import { outcomeWords, stays } from "./words.ts";

/** Files that are listed, at most. */
const MAX_LISTED = 100;

/** What would become of files: first those that stay as they are, and why. */
export function Outcome({ restored, folder }: { restored: RestoredFiles; folder: string }) {
  const shown = [...restored.files].sort((a, b) => Number(stays(b)) - Number(stays(a))).slice(0, MAX_LISTED);
  const more = restored.files.length - shown.length + (restored.omitted ?? 0);
  return (
    <ul class="outcomes" aria-label="Files">
      {shown.map((file) => <OneFile key={file.path} file={file} folder={folder} />)}
      {more > 0 && <li>{plural(more, "more file", "more files")}</li>}
    </ul>
  );
}

function OneFile({ file, folder }: { file: RestoredFile; folder: string }) {
  const line = <><bdi class="outcome-path cut" title={place({ path: file.path }, folder)}><Cut text={place({ path: file.path }, folder)} /></bdi> {outcomeWords(file, folder)}</>;
  if (!file.diff) return <li data-outcome={file.outcome}>{line}</li>;
  return (
    <li data-outcome={file.outcome}>
      <details><summary>{line}</summary><Diff diff={shownOf(file.diff)} folder={folder} /></details>
    </li>
  );
}
