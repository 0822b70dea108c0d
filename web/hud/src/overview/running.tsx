import { sessionAddress } from "../routes.ts";
import { sessions, titleOf, type Listed } from "../store/sessions.ts";
import { base, elapsed } from "../text/format.ts";
import { useNow } from "../ui/now.ts";
import { activityOf } from "./words.ts";

/** The sessions that do something, those that wait for the user first. */
export function Running() {
  const busy = [...sessions.value.values()].filter((s) => s.activity).sort((a, b) => order(a) - order(b));
  return (
    <section class="card" aria-labelledby="running-now">
      <h2 id="running-now">Running now</h2>
      {busy.length === 0 && <p class="quiet">No session is running</p>}
      <ul class="running-now">
        {busy.map(({ info, activity }) => activity && (
          <li key={info.sessionId} data-running={info.sessionId} data-activity={activity.kind}>
            <a href={sessionAddress(info.sessionId)} dir="auto">{titleOf(info)}</a>
            <span class="quiet">{base(info.cwd)}</span>
            <span class={activity.kind === "asking" ? "mark bad" : "mark"}>{activityOf(activity)}</span>
            <Since at={activity.since} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** order sorts sessions that wait for the user before the others, and those before longer ones. */
const order = ({ activity }: Listed): number => (activity?.kind === "asking" ? -1e15 : 0) + Date.parse(activity?.since ?? "");

function Since({ at }: { at: string }) {
  return <time class="quiet" dateTime={at}>{elapsed(useNow() - Date.parse(at))}</time>;
}
