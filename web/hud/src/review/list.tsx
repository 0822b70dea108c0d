import { useMemo, useState } from "preact/hooks";
import { place } from "../conversation/calls.ts";
import { Diff } from "../conversation/diff.tsx";
import { isOpen } from "../store/connection.ts";
import type { Listed } from "../store/reviews.ts";
import type { SessionView } from "../store/session.ts";
import { TakeBack, reverts } from "../store/take-back.ts";
import { fully, plural, when } from "../text/format.ts";
import { Icon } from "../ui/icons.tsx";
import { Cut } from "../ui/cut.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { Preview } from "./preview.tsx";
import { inForce, reviewRows, takenBack, turnsOf, type ChangedFile, type ChangedTurn, type ReviewedChange, type ReviewRow } from "./rows.ts";
import { kindWords, statesOf } from "./words.ts";

interface ReviewListProps {
  view: SessionView;
  listed: Listed;
  /** The diffs are open at first. */
  open: boolean;
  label: string;
}

/** The changes of files by turn and file. Each can be taken back, and put forward again. */
export function ReviewList({ view, listed, open, label }: ReviewListProps) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const takeBack = useMemo(() => new TakeBack(), [view]);
  const turns = useMemo(() => turnsOf(listed.changes), [listed]);
  const rows = useMemo(() => reviewRows(turns, listed, toggled, open), [turns, listed, toggled, open]);
  const toggle = (key: string): void => {
    const next = new Set(toggled);
    if (!next.delete(key)) next.add(key);
    setToggled(next);
  };
  return (
    <VirtualList class="review" focusable role="list" label={label} rows={rows} estimate={estimate}
      draw={(row) => <Line row={row} view={view} takeBack={takeBack} toggle={toggle} />} />
  );
}

const estimate = (row: ReviewRow): number => (row.kind === "file" ? (row.open ? 240 : 40) : 48);

interface LineProps {
  row: ReviewRow;
  view: SessionView;
  takeBack: TakeBack;
  toggle: (key: string) => void;
}

function Line({ row, view, takeBack, toggle }: LineProps) {
  switch (row.kind) {
    case "turn":
      return <TurnHead name={row.key} turn={row.turn} view={view} takeBack={takeBack} />;
    case "file":
      return <FileLine file={row.file} open={row.open} view={view} takeBack={takeBack} toggle={() => toggle(row.key)} />;
    case "omitted":
      return <p class="note review-note">{plural(row.count, "more change has", "more changes have")} no room in this list.</p>;
    case "older":
      return <p class="none"><button type="button" class="button small" disabled={view.reviews.newest.busy.value || !isOpen.value} onClick={() => view.reviews.wantOlder()}>Show older changes</button></p>;
  }
}

interface ActionsProps {
  /** The place of the preview. */
  name: string;
  /** The object of the actions, for screen readers. */
  about: string;
  changes: readonly ReviewedChange[];
  labels: readonly [back: string, forward: string];
  view: SessionView;
  takeBack: TakeBack;
}

/** The buttons that take changes back and put them forward. The first one keeps the focus when its action is done. */
function Actions({ name, about, changes, labels: [back, forward], view, takeBack }: ActionsProps) {
  const [now, former] = [inForce(changes), takenBack(changes)];
  const disabled = !isOpen.value || view.running.value !== null;
  const button = (label: string, action: { changeIds: readonly string[]; forward: boolean }) => (
    <button type="button" class="button small" aria-label={`${label}: ${about}`} title={view.running.value ? "Not while a turn runs" : undefined}
      disabled={disabled} onClick={() => void takeBack.start(reverts(view, takeBack, name, action.changeIds, action.forward))}>{label}</button>
  );
  return (
    <span class="review-actions" data-actions={name}>
      {now.length > 0 ? button(back, { changeIds: now, forward: false }) : former.length > 0 && button(forward, { changeIds: former, forward: true })}
      {now.length > 0 && former.length > 0 && changes.length > 1 && button(forward, { changeIds: former, forward: true })}
    </span>
  );
}

function TurnHead({ name, turn, view, takeBack }: { name: string; turn: ChangedTurn; view: SessionView; takeBack: TakeBack }) {
  const many = plural(turn.files.length, "file");
  return (
    <div class="review-turn" role="listitem" data-turn={turn.turnId}>
      <header>
        <h2>{many} changed</h2>
        <time class="quiet" dateTime={turn.at} title={fully(turn.at)}>{when(turn.at)}</time>
        <Actions name={name} about={`${many}, ${when(turn.at)}`} changes={turn.changes} labels={["Take all back", "Put all forward"]} view={view} takeBack={takeBack} />
      </header>
      <Preview name={name} view={view} takeBack={takeBack} />
    </div>
  );
}

interface FileLineProps {
  file: ChangedFile;
  open: boolean;
  view: SessionView;
  takeBack: TakeBack;
  toggle: () => void;
}

function FileLine({ file, open, view, takeBack, toggle }: FileLineProps) {
  const folder = view.cwd.value;
  const path = place({ path: file.path }, folder);
  const kinds = [...new Set(file.changes.map((c) => kindWords[c.kind] ?? c.kind))];
  const several = file.changes.length > 1;
  return (
    <div class="review-file" role="listitem" data-file={path}>
      <header>
        <button type="button" class="disclosure" aria-expanded={open} onClick={toggle}>
          <Icon name="chevron" />
          <bdi class="diff-path cut" title={path}><Cut text={path} /></bdi>
          {kinds.map((kind) => <span key={kind} class="mark">{kind}</span>)}
          <span class="review-state">{statesOf(file.changes)}</span>
        </button>
        <Actions name={file.key} about={path} changes={file.changes} labels={["Take back", "Put forward"]} view={view} takeBack={takeBack} />
      </header>
      <Preview name={file.key} view={view} takeBack={takeBack} />
      {open && file.changes.map((change, i) => (
        <div key={change.id} class="review-change" data-change={change.id} data-state={change.state}>
          {several && (
            <p class="review-step">
              <span>{i + 1}. {kindWords[change.kind] ?? change.kind}</span>
              <span class="review-state">{statesOf([change])}</span>
              <Actions name={change.id} about={`${path}, change ${i + 1}`} changes={[change]} labels={["Take back", "Put forward"]} view={view} takeBack={takeBack} />
            </p>
          )}
          {several && <Preview name={change.id} view={view} takeBack={takeBack} />}
          <Lines change={change} folder={folder} />
        </div>
      ))}
    </div>
  );
}

function Lines({ change, folder }: { change: ReviewedChange; folder: string }) {
  if (change.shown) return <Diff diff={change.shown} folder={folder} />;
  if (change.kind === "move") return <p class="note"><bdi>{place({ path: change.path }, folder)}</bdi> moved to <bdi>{place({ path: change.to ?? "" }, folder)}</bdi></p>;
  const stored = (change.before === undefined || change.hasBefore) && (change.after === undefined || change.hasAfter);
  return <p class="note">{stored ? "No lines: the file is not text." : "No lines: the content is no longer stored."}</p>;
}
