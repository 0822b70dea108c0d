import { useMemo } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { TakeBack } from "../store/take-back.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { Compaction } from "./compaction.tsx";
import { TimelineRowView } from "./timeline-row.tsx";
import { NewCheckpoint } from "./checkpoint.tsx";
import { timeline } from "./timeline.ts";

/** The changes of the view, newest first, which can be undone or restored; and compaction. */
export function HistoryPanel({ view }: { view: SessionView }) {
  const edits = useFetched(view.edits);
  const checkpoints = useFetched(view.checkpoints);
  const rows = useMemo(() => (edits && checkpoints ? timeline(edits.edits, checkpoints.checkpoints, edits.older) : null), [edits, checkpoints]);
  const takeBack = useMemo(() => new TakeBack(), [view]);
  const both = [view.edits, view.checkpoints];
  return (
    <div class="panel fill">
      <div class="panel-head">
        <Compaction view={view} />
        <NewCheckpoint view={view} />
      </div>
      <Shown of={both} class="column">
        {!rows && !both.some((f) => f.failure.value) && <Progress value={undefined} label="Loading the timeline" />}
        {rows?.length === 0 && (
          <Empty title="No changes to the view yet">
            <p>Compactions, clears and restores appear here. The newest can be undone. Create a checkpoint above to restore the current state later.</p>
          </Empty>
        )}
        {rows && rows.length > 0 && (
          <VirtualList class="timeline" focusable role="list" label="Timeline, newest first" rows={rows} estimate={(m) => (m.kind === "older" ? 40 : 76)}
            draw={(row) => <TimelineRowView view={view} takeBack={takeBack} row={row} />} />
        )}
      </Shown>
    </div>
  );
}
