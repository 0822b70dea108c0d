import type { Fetched } from "../store/fetched.ts";
import type { Listed } from "../store/reviews.ts";
import type { SessionView } from "../store/session.ts";
import { Dialog, Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { ReviewList } from "./list.tsx";

/** The review of a turn's changes, while it is open. */
export function Review({ view }: { view: SessionView }) {
  const open = view.reviews.open.value;
  if (!open) return null;
  return (
    <Dialog key={open.turnId} title="Changes of this turn" large onClose={() => view.reviews.close()}>
      <Opened view={view} listed={open.listed} />
    </Dialog>
  );
}

function Opened({ view, listed }: { view: SessionView; listed: Fetched<Listed> }) {
  const value = useFetched(listed);
  return (
    <Shown of={listed} class="request">
      {!value && listed.failure.value === "" && <Progress value={undefined} label="Loading the changes" />}
      {value && (value.changes.length > 0 ? <ReviewList view={view} listed={value} open label="Changed files" /> : <p class="quiet">This turn changed no files.</p>)}
    </Shown>
  );
}
