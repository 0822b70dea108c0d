import { useMemo } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Window } from "../ui/window.tsx";
import { Compacting } from "./compacting.tsx";
import { MomentRow } from "./moment.tsx";
import { NewCheckpoint } from "./checkpoint.tsx";
import { timeline } from "./timeline.ts";

/** What happened to the view, newest first, with ways back; and compaction. */
export function HistoryPanel({ view }: { view: SessionView }) {
  const edits = useFetched(view.edits);
  const checkpoints = useFetched(view.checkpoints);
  const moments = useMemo(() => (edits && checkpoints ? timeline(edits.edits, checkpoints.checkpoints, edits.older) : null), [edits, checkpoints]);
  const both = [view.edits, view.checkpoints];
  return (
    <div class="panel fill">
      <div class="panel-head">
        <Compacting view={view} />
        <NewCheckpoint view={view} />
      </div>
      <Shown of={both} class="column">
        {!moments && !both.some((f) => f.failure.value) && <Progress value={undefined} label="Fetching the timeline" />}
        {moments?.length === 0 && (
          <Empty title="Nothing has happened to the view yet">
            <p>Compactions, clears and returns to an earlier state show up here, and each can be taken back. Name the present state above to come back to it later.</p>
          </Empty>
        )}
        {moments && moments.length > 0 && (
          <Window class="timeline" focusable role="list" label="Timeline, newest first" rows={moments} estimate={(m) => (m.kind === "older" ? 40 : 76)}
            draw={(m) => <MomentRow view={view} moment={m} />} />
        )}
      </Shown>
    </div>
  );
}
