import type { SessionView } from "../store/session.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { ReviewList } from "./list.tsx";

/** All changes of files in a session, newest turn first. */
export function ChangesPanel({ view }: { view: SessionView }) {
  const { newest } = view.reviews;
  const listed = useFetched(newest);
  return (
    <div class="panel fill">
      <Shown of={newest} class="column">
        {!listed && newest.failure.value === "" && <Progress value={undefined} label="Loading the changes" />}
        {listed?.changes.length === 0 && (
          <Empty title="No files changed yet">
            <p>The files that the model changes appear here, turn by turn. Each change can be taken back.</p>
          </Empty>
        )}
        {listed && listed.changes.length > 0 && <ReviewList view={view} listed={listed} open={false} label="Changed files, newest turn first" />}
      </Shown>
    </div>
  );
}
