import type { SessionView } from "../store/session.ts";
import { IconButton } from "../ui/controls.tsx";
import { Markdown } from "./segments.tsx";

/** The output of a slash command, until the next prompt. */
export function CommandOutput({ view }: { view: SessionView }) {
  const output = view.output.value;
  if (!output) return null;
  return (
    <section class="command-output" aria-label={`Output of /${output.command}`} role="status">
      <Markdown text={output.text} />
      <IconButton icon="close" label="Close output" onClick={() => (view.output.value = null)} />
    </section>
  );
}
