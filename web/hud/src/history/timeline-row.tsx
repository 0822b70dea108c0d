import type { Checkpoint, ListedEdit } from "@strata/client";
import { useState } from "preact/hooks";
import { restore, undo } from "../store/compaction.ts";
import { PutBack } from "../review/put-back.tsx";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { fully, when } from "../text/format.ts";
import { Confirm, TokenCount, Tokens } from "../ui/controls.tsx";
import { detailsOf, sizesOf, type TimelineRow } from "./timeline.ts";

export function TimelineRowView({ view, row }: { view: SessionView; row: TimelineRow }) {
  switch (row.kind) {
    case "edit":
      return <EditRow view={view} edit={row.edit} undoable={row.undoable} title={row.title} />;
    case "checkpoint":
      return <CheckpointRow view={view} checkpoint={row.checkpoint} />;
    case "older":
      return <p class="none"><button type="button" class="button small" disabled={view.edits.busy.value || !isOpen.value} onClick={() => view.wantOlderEdits()}>Show older entries</button></p>;
  }
}

function Time({ at }: { at: string }) {
  return <time class="quiet" dateTime={at} title={fully(at)}>{when(at)}</time>;
}

function EditRow({ view, edit, undoable, title }: { view: SessionView; edit: ListedEdit; undoable: boolean; title: string }) {
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
        {undoable && <Confirm label="Undo" about={title} question="Undo this change?" yes="Undo" disabled={!isOpen.value} onYes={() => void undo(view)} />}
        {!undoable && <Restore view={view} target={{ seq: edit.seq }} about={title} name={`the state after “${title}”`} />}
      </div>
    </div>
  );
}

interface RestoreProps {
  view: SessionView;
  target: { checkpointId: string } | { seq: number };
  about: string;
  /** The state, in a sentence. */
  name: string;
}

function Restore({ view, target, about, name }: RestoreProps) {
  const [putBack, setPutBack] = useState(false);
  return (
    <Confirm label="Restore this state" about={about} question="Removes later messages from the view. Restore?" yes="Restore" disabled={!isOpen.value}
      onYes={() => void restore(view, target, name, putBack)}>
      <PutBack view={view} target={target} checked={putBack} onChange={setPutBack} />
    </Confirm>
  );
}

function CheckpointRow({ view, checkpoint }: { view: SessionView; checkpoint: Checkpoint }) {
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
        <Restore view={view} target={{ checkpointId: checkpoint.checkpointId }} about={name} name={name} />
        <Confirm label="Delete checkpoint" about={name} question="Delete this checkpoint?" yes="Delete" disabled={!isOpen.value} onYes={remove} />
      </div>
    </div>
  );
}
