import { useEffect, useState } from "preact/hooks";
import type { Running, SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { plural } from "../text/format.ts";
import { reasonText } from "../text/reasons.ts";
import { ItemName } from "../ui/item-name.tsx";

/** The state of the last turn, below the messages: a retry, omitted items, or a prompt that the server did not accept. */
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
          <button type="button" class="button" disabled={view.busy.value} onClick={() => view.retry().catch(failed("Cannot send the prompt again"))}>Send again</button>
        </div>
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
