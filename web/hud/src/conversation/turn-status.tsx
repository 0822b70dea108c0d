import { useEffect, useState } from "preact/hooks";
import type { Running, SessionView } from "../store/session.ts";
import { unanswered } from "../store/unanswered.ts";
import { failed } from "../store/toasts.ts";
import { plural } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";
import { ItemName } from "../ui/item-name.tsx";

/** The state of the last turn, below the messages: a retry, omitted items, a failure, or a missing reply. */
export function TurnStatus({ view }: { view: SessionView }) {
  const failure = view.failure.value;
  const running = view.running.value;
  const leftOut = view.leftOut.value;
  return (
    <div class="below">
      {running?.retry && <Retrying running={running} />}
      {leftOut.length > 0 && (
        <details class="omitted">
          <summary>{plural(leftOut.length, "item")} omitted from the last request</summary>
          <ul>{leftOut.map((l) => <li key={l.key}><ItemName view={view} of={l.key} /> <span class="quiet">{reasonText(l.reason)}</span></li>)}</ul>
        </details>
      )}
      {failure && (
        <div class="failure" role="alert">
          <p>{failure.text}</p>
          {failure.blocks && <button type="button" class="button" disabled={view.busy.value} onClick={() => view.retry().catch(failed("Retry failed"))}>Retry prompt</button>}
        </div>
      )}
      {!failure && <MissingReply view={view} />}
    </div>
  );
}

/** A notice that the last prompt has no complete reply: its turn failed or was cancelled, or the server stopped. */
function MissingReply({ view }: { view: SessionView }) {
  const missing = unanswered(view.transcript.entries.value);
  if (!missing || view.busy.value || view.transcript.tail.value.length > 0 || view.transcript.newer.value || view.editing.value) return null;
  return (
    <div class="failure mild">
      <p>{missing.steps ? "The reply to the last prompt is incomplete." : "No reply to this prompt."}</p>
      {view.canRestore && (
        <button type="button" class="button"
          onClick={() => view.again(missing.prompt).catch(failed("Cannot resend the prompt"))}>
          {missing.steps ? "Continue reply" : "Resend prompt"}
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
      {retry.reason}. Attempt {retry.attempt + 1} of {retry.of} {seconds > 0 ? `in ${seconds} s` : "in progress"}
    </p>
  );
}
