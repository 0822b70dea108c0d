import type { LiveRun, LiveText } from "../store/live-text.ts";
import type { Running, SessionView } from "../store/session.ts";
import { count, elapsed, plural } from "../text/format.ts";
import { useNow } from "../ui/now.ts";

/** How long the running turn has taken, and how fast its reply arrives. Outside the log, so that no screen reader reads each second. */
export function Pace({ view }: { view: SessionView }) {
  const running = view.running.value;
  return running && <RunningPace running={running} live={view.transcript.streaming.value} />;
}

function RunningPace({ running, live }: { running: Running; live: LiveText | undefined }) {
  const now = useNow();
  const rate = live?.rate(now) ?? 0;
  const parts = [elapsed(now - running.begun), rate > 0 && `~${count(Math.round(rate))} tokens/s`].filter(Boolean);
  return <span class="pace" title="Time since the prompt; tokens are estimated from the length of the text">{parts.join(", ")}</span>;
}

/** How long a model has been thinking, and the length of its thoughts. This is in the log, so screen readers skip the numbers. */
export function ThinkingNow({ live, run }: { live: LiveText; run: LiveRun }) {
  const now = useNow();
  void live.grown.value;
  return <ThinkingFor ms={Number.isNaN(run.begun) ? 0 : now - run.begun} chars={run.chars} />;
}

/** The time of thinking that streams, 0 for unknown, and its length. */
export function ThinkingFor({ ms, chars }: { ms: number; chars: number }) {
  return (
    <>
      <span class="thinking-now">Thinking{ms > 0 && <span aria-hidden="true">, {elapsed(ms)}</span>}</span>
      <span class="quiet" aria-hidden="true">{plural(chars, "character")}</span>
    </>
  );
}
