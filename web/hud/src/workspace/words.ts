import type { FileInfo, IndexStatus, Outline } from "@strata/client";
import { linesWords } from "../files/rows.ts";
import { count, plural } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";

/** indexWords returns how far the index of the folder is. */
export function indexWords(index: IndexStatus): string {
  if (index.problem) return `The folder is not indexed: ${index.problem}`;
  if (index.complete) return `${plural(index.files, "file")}, ${count(index.outlined)} with an outline`;
  return index.files === 0 ? "Listing the files of the folder" : `${count(index.files - index.pending)} of ${plural(index.files, "file")} read`;
}

/** stateWords returns how much of a file the model receives: "The model receives the whole file." */
export function stateWords(outline: Pick<Outline, "state">, file: Pick<FileInfo, "range"> | undefined): string {
  switch (outline.state) {
    case "full":
      return "The model receives the whole file.";
    case "partial":
      return file?.range ? `The model receives ${linesWords(file.range)}.` : "The model receives a part of the file.";
    case "summary_only":
      return "The model receives the outline.";
    case "not_available":
      return "The model receives nothing of this file.";
  }
}

/** whyWords returns why a file is shown as it is, "" if its state explains that. */
export function whyWords({ state, reason = "" }: Pick<Outline, "state" | "reason">, added: boolean): string {
  if (!added) return state === "summary_only" ? "selected by Strata, not added" : reason;
  return reason === "asked for" ? "added" : reasonText(reason);
}

/** linesOf returns the lines of a symbol: "12" or "12–40". */
export const linesOf = ({ line, endLine }: { line: number; endLine: number }): string => (endLine > line ? `${line}–${endLine}` : String(line));
