import type { Checkpoint, ListedEdit } from "@strata/client";
import { useState } from "preact/hooks";
import { restore, restoreWithFiles, undo, type Target } from "../store/compaction.ts";
import { Preview } from "../review/preview.tsx";
import type { TakeBack } from "../store/take-back.ts";
import { isOpen, offers } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { fully, when } from "../text/format.ts";
import { Confirm, TokenCount, Tokens } from "../ui/controls.tsx";
import { detailsOf, sizesOf, type TimelineRow } from "./timeline.ts";

export function TimelineRowView({ view, takeBack, row }: { view: SessionView; takeBack: TakeBack; row: TimelineRow }) {
  switch (row.kind) {
    case "edit":
      return <EditRow view={view} takeBack={takeBack} edit={row.edit} undoable={row.undoable} title={row.title} />;
    case "checkpoint":
      return <CheckpointRow view={view} takeBack={takeBack} checkpoint={row.checkpoint} />;
    case "older":
      return <p class="none"><button type="button" class="button small" disabled={view.edits.busy.value || !isOpen.value} onClick={() => view.wantOlderEdits()}>Show older entries</button></p>;
  }
}

function Time({ at }: { at: string }) {
  return <time class="quiet" dateTime={at} title={fully(at)}>{when(at)}</time>;
}

function EditRow({ view, takeBack, edit, undoable, title }: { view: SessionView; takeBack: TakeBack; edit: ListedEdit; undoable: boolean; title: string }) {
  const [open, setOpen] = useState(false);
  const sizes = sizesOf(edit);
  const details = detailsOf(edit);
  return (
    <div class={edit.inForce ? "timeline-row" : "timeline-row past"} role="listitem" data-edit={edit.id} data-kind={edit.kind} data-in-force={edit.inForce}
      data-before={edit.before ?? 0} data-after={edit.after ?? 0}>
      <header>
        <span class="timeline-row-head"><span class="timeline-row-title">{title}</span>{!edit.inForce && <span class="mark">no longer active</span>}</span>
        <Time at={edit.at} />
      </header>
      <p class="quiet">{sizes && <span class="timeline-row-sizes"><Tokens n={sizes.before} /> to <TokenCount n={sizes.after} /></span>}{details.length > 0 && `${sizes ? ", " : ""}${details.join(", ")}`}</p>
      {open && <pre class="timeline-row-summary">{edit.summary}</pre>}
      <div class="timeline-row-actions">
        {edit.summary && <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide summary" : <>Show summary, <TokenCount n={edit.summaryTokens ?? 0} /></>}</button>}
        {undoable && <button type="button" class="button small" aria-label={`Undo: ${title}`} disabled={!isOpen.value} onClick={() => void undo(view, edit.seq)}>Undo</button>}
        {!undoable && <Restore view={view} takeBack={takeBack} target={{ seq: edit.seq }} about={title} name={`the state after “${title}”`} />}
      </div>
    </div>
  );
}

interface RestoreProps {
  view: SessionView;
  takeBack: TakeBack;
  target: Target;
  about: string;
  /** The state, in a sentence. */
  name: string;
}

/** The buttons that restore a state, without files and with them. Both can be undone, so nothing asks unless files would stay. */
function Restore({ view, takeBack, target, about, name }: RestoreProps) {
  const key = JSON.stringify(target);
  const withFiles = (): void => void takeBack.start(restoreWithFiles(view, key, target, name));
  return (
    <span class="timeline-row-restore" data-actions={key}>
      <button type="button" class="button small" aria-label={`Restore this state: ${about}`} disabled={!isOpen.value} onClick={() => void restore(view, target, name)}>Restore this state</button>
      {offers("_strata/changes/revert") && <button type="button" class="button small" aria-label={`Restore with files: ${about}`} disabled={!isOpen.value} onClick={withFiles}>Restore with files</button>}
      <Preview name={key} view={view} takeBack={takeBack} />
    </span>
  );
}

function CheckpointRow({ view, takeBack, checkpoint }: { view: SessionView; takeBack: TakeBack; checkpoint: Checkpoint }) {
  const name = `“${checkpoint.name}”`;
  const remove = (): void => {
    view.call("_strata/checkpoint/delete", { checkpointId: checkpoint.checkpointId }).then(
      () => {
        view.checkpoints.changed();
        toast(`Checkpoint ${name} deleted. Messages are unchanged.`);
      },
      failed("Cannot delete the checkpoint"),
    );
  };
  return (
    <div class="timeline-row checkpoint" role="listitem" data-checkpoint={checkpoint.checkpointId}>
      <header>
        <span class="timeline-row-head"><span class="mark">Checkpoint</span><span class="timeline-row-title">{checkpoint.name}</span></span>
        <Time at={checkpoint.at} />
      </header>
      <div class="timeline-row-actions">
        <Restore view={view} takeBack={takeBack} target={{ checkpointId: checkpoint.checkpointId }} about={name} name={name} />
        <Confirm label="Delete checkpoint" about={name} question="Delete this checkpoint?" yes="Delete" disabled={!isOpen.value} onYes={remove} />
      </div>
    </div>
  );
}
