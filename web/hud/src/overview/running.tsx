import { useEffect, useState } from "preact/hooks";
import { sessionAddress } from "../routes.ts";
import { sessions, titleOf, type Listed } from "../store/sessions.ts";
import { base } from "../text/format.ts";
import { activityOf, elapsed } from "./words.ts";

/** The sessions that do something, those that wait for the user first. */
export function Running() {
  const busy = [...sessions.value.values()].filter((s) => s.activity).sort((a, b) => order(a) - order(b));
  const now = useNow(busy.length > 0);
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
            <time class="quiet" dateTime={activity.since}>{elapsed(activity.since, now)}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** order sorts sessions that wait for the user before the others, and those before longer ones. */
const order = ({ activity }: Listed): number => (activity?.kind === "asking" ? -1e15 : 0) + Date.parse(activity?.since ?? "");

/** useNow returns the time, each second while it is needed. */
function useNow(needed: boolean): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!needed) return;
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [needed]);
  return Math.max(now, 0);
}
