import { useEffect, useState } from "preact/hooks";
import { editing } from "./draft.ts";
import type { Running, SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";

/** What is to be known right below the messages: a failure, a try that is repeated, what the request could not hold. */
export function Below({ view }: { view: SessionView }) {
  const failure = view.failure.value;
  const running = view.running.value;
  const leftOut = view.leftOut.value;
  return (
    <div class="below">
      {running?.retry && <Retrying running={running} />}
      {leftOut.length > 0 && (
        <details class="left-out">
          <summary>The last request could not hold everything: {leftOut.length}</summary>
          <ul>{leftOut.map((l) => <li key={l.key}><code>{l.key}</code> <span class="quiet">{l.reason.replaceAll("_", " ")}</span></li>)}</ul>
        </details>
      )}
      {failure && (
        <div class="failure" role="alert">
          <p>{failure.text}</p>
          {failure.blocks && <button type="button" class="button" disabled={view.busy.value} onClick={() => view.retry().catch(failed("It failed again"))}>Try again</button>}
        </div>
      )}
      {!failure && <Unanswered view={view} />}
    </div>
  );
}

/** The last prompt has no answer: its turn failed, or the server stopped before any of it came. */
function Unanswered({ view }: { view: SessionView }) {
  const last = view.transcript.entries.value.at(-1);
  const lonely = last?.message.role === "user" && last.message.turnId && last.message.inView;
  if (!lonely || view.busy.value || view.transcript.tail.value.length > 0 || view.transcript.newer.value || editing.value) return null;
  return (
    <div class="failure mild">
      <p>This prompt has no answer.</p>
      {view.canRestore && (
        <button type="button" class="button"
          onClick={() => view.again(last).catch(failed("It could not be sent again"))}>
          Send it again
        </button>
      )}
    </div>
  );
}

function Retrying({ running }: { running: Running }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const { retry } = running;
  if (!retry) return null;
  const seconds = Math.max(0, Math.ceil((retry.until - now) / 1000));
  return (
    <p class="retrying" role="status">
      {retry.reason}. Try {retry.attempt + 1} of {retry.of} {seconds > 0 ? `in ${seconds} s` : "is under way"}
    </p>
  );
}
