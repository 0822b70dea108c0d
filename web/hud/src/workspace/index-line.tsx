import type { SessionView } from "../store/session.ts";
import { Progress } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { indexWords } from "./words.ts";

/** The progress of the index of the session's folder, and the files that it lacks. */
export function IndexLine({ view }: { view: SessionView }) {
  const index = useFetched(view.index);
  const failure = view.index.failure.value;
  if (failure !== "") return <p class="note bad" role="status">No search: {failure}</p>;
  if (!index) return <Progress value={undefined} label="Opening the index of the folder" />;
  const { complete, files, pending, omissions = [], problem } = index;
  const unread = !complete && !problem;
  return (
    <div class={view.index.stale.value ? "index-line stale" : "index-line"} data-complete={complete} data-files={files}>
      <p class={problem ? "note bad" : "note"}>{indexWords(index)}</p>
      {unread && <Progress value={files > 0 ? (files - pending) / files : undefined} label="Files read by the index" />}
      {omissions.length > 0 && (
        <details class="note">
          <summary>Not in the index</summary>
          <ul>{omissions.map((o) => <li key={o}>{o}</li>)}</ul>
        </details>
      )}
    </div>
  );
}
