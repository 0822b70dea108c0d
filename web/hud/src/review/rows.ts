import type { TurnChange } from "@strata/client";
import { shownOf, type ShownDiff } from "../conversation/diffs.ts";
import type { Listed } from "../store/reviews.ts";

/** ReviewedChange is a change, and its lines if they are known. */
export interface ReviewedChange extends TurnChange {
  shown: ShownDiff | null;
}

/** ChangedFile is a file with its changes in a turn, in order. A file that was moved is the same file. */
export interface ChangedFile {
  key: string;
  /** Where the file is after the changes. */
  path: string;
  changes: ReviewedChange[];
}

export interface ChangedTurn {
  turnId: string;
  at: string;
  /** In order. */
  changes: ReviewedChange[];
  files: ChangedFile[];
}

/** turnsOf groups changes by turn and file. They are in the order of the server: newest turn first. */
export function turnsOf(changes: readonly TurnChange[]): ChangedTurn[] {
  const turns = new Map<string, ReviewedChange[]>();
  for (const change of changes) {
    const reviewed = { ...change, shown: change.diff ? shownOf(change.diff) : null };
    const known = turns.get(change.turnId);
    if (known) known.push(reviewed);
    else turns.set(change.turnId, [reviewed]);
  }
  return [...turns].map(([turnId, of]) => ({ turnId, at: of[0]?.at ?? "", changes: of, files: filesOf(of) }));
}

function filesOf(changes: readonly ReviewedChange[]): ChangedFile[] {
  const files: ChangedFile[] = [];
  const at = new Map<string, ChangedFile>();
  for (const change of changes) {
    let file = at.get(change.path);
    if (!file) files.push((file = { key: `file ${change.id}`, path: change.path, changes: [] }));
    at.set(change.path, file);
    file.changes.push(change);
    if (change.kind !== "move" || !change.to || change.state === "not_done") continue;
    at.delete(change.path);
    at.set(change.to, file);
    file.path = change.to;
  }
  return files;
}

/** inForce and takenBack return the ids of the changes that can be taken back, and of those that can be put forward. */
export const inForce = (changes: readonly TurnChange[]): string[] => changes.filter((c) => c.state !== "restored" && c.state !== "not_done").map((c) => c.id);
export const takenBack = (changes: readonly TurnChange[]): string[] => changes.filter((c) => c.state === "restored").map((c) => c.id);

/** ReviewRow is a row of a review: the head of a turn, a file, what is omitted, or the button that loads older turns. */
export type ReviewRow = { key: string } & (
  | { kind: "turn"; turn: ChangedTurn }
  | { kind: "file"; file: ChangedFile; open: boolean }
  | { kind: "omitted"; count: number }
  | { kind: "older" }
);

/** reviewRows returns the rows of turns. toggled has the keys of the files that are not as they are at first. */
export function reviewRows(turns: readonly ChangedTurn[], { omitted, older }: Listed, toggled: ReadonlySet<string>, openAtFirst: boolean): ReviewRow[] {
  const rows: ReviewRow[] = [];
  for (const turn of turns) {
    rows.push({ key: `turn ${turn.turnId}`, kind: "turn", turn });
    for (const file of turn.files) rows.push({ key: file.key, kind: "file", file, open: toggled.has(file.key) !== openAtFirst });
  }
  if (omitted > 0) rows.push({ key: "omitted", kind: "omitted", count: omitted });
  if (older) rows.push({ key: "older", kind: "older" });
  return rows;
}
