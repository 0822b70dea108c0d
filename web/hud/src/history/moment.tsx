import type { Checkpoint, ListedEdit } from "@strata/client";
import { useState } from "preact/hooks";
import { goBack, undo } from "../store/compacting.ts";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { fully, when } from "../text/format.ts";
import { Confirm, Tokens } from "../ui/controls.tsx";
import { detailsOf, sizesOf, type Moment } from "./timeline.ts";

export function MomentRow({ view, moment }: { view: SessionView; moment: Moment }) {
  switch (moment.kind) {
    case "edit":
      return <EditRow view={view} edit={moment.edit} undoable={moment.undoable} title={moment.title} />;
    case "checkpoint":
      return <CheckpointRow view={view} checkpoint={moment.checkpoint} />;
    case "older":
      return <p class="none"><button type="button" class="button small" disabled={view.edits.busy.value || !isOpen.value} onClick={() => view.wantOlderEdits()}>Show older</button></p>;
  }
}

function At({ at }: { at: string }) {
  return <time class="quiet" dateTime={at} title={fully(at)}>{when(at)}</time>;
}

function EditRow({ view, edit, undoable, title }: { view: SessionView; edit: ListedEdit; undoable: boolean; title: string }) {
  const [open, setOpen] = useState(false);
  const sizes = sizesOf(edit);
  const details = detailsOf(edit);
  return (
    <div class={edit.inForce ? "moment" : "moment past"} role="listitem" data-edit={edit.id} data-kind={edit.kind} data-in-force={edit.inForce}
      data-before={edit.before ?? 0} data-after={edit.after ?? 0}>
      <header>
        <span class="moment-head"><span class="moment-title">{title}</span>{!edit.inForce && <span class="mark">no longer in force</span>}</span>
        <At at={edit.at} />
      </header>
      <p class="quiet">{sizes && <span class="moment-sizes"><Tokens n={sizes.before} /> to <Tokens n={sizes.after} /> tokens</span>}{details.length > 0 && `${sizes ? ", " : ""}${details.join(", ")}`}</p>
      {open && <pre class="moment-summary">{edit.summary}</pre>}
      <div class="moment-actions">
        {edit.summary && <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide the summary" : <>Show the summary, <Tokens n={edit.summaryTokens ?? 0} /> tokens</>}</button>}
        {undoable && <Confirm label="Undo" about={title} question="Take this back?" yes="Undo" disabled={!isOpen.value} onYes={() => void undo(view)} />}
        {!undoable && <Confirm label="Go back to here" about={title} question="Later messages leave the view. Go back?" yes="Go back" disabled={!isOpen.value}
          onYes={() => void goBack(view, { seq: edit.seq }, `“${title}”`)} />}
      </div>
    </div>
  );
}

function CheckpointRow({ view, checkpoint }: { view: SessionView; checkpoint: Checkpoint }) {
  const name = `“${checkpoint.name}”`;
  const remove = (): void => {
    view.call("_strata/checkpoint/delete", { checkpointId: checkpoint.checkpointId }).then(
      () => {
        view.checkpoints.changed();
        toast(`${name} is no checkpoint any more; what it named stays.`);
      },
      failed("The checkpoint could not be deleted"),
    );
  };
  return (
    <div class="moment checkpoint" role="listitem" data-checkpoint={checkpoint.checkpointId}>
      <header>
        <span class="moment-head"><span class="mark">Checkpoint</span><span class="moment-title">{checkpoint.name}</span></span>
        <At at={checkpoint.at} />
      </header>
      <div class="moment-actions">
        <Confirm label="Go back to here" about={name} question="Later messages leave the view. Go back?" yes="Go back" disabled={!isOpen.value}
          onYes={() => void goBack(view, { checkpointId: checkpoint.checkpointId }, name)} />
        <Confirm label="Delete" about={name} question="Take the name away?" yes="Delete" disabled={!isOpen.value} onYes={remove} />
      </div>
    </div>
  );
}
