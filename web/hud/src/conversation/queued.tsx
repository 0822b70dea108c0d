import type { PromptQueue, Queued } from "../store/prompt-queue.ts";
import { plural } from "../text/format.ts";
import { IconButton } from "../ui/controls.tsx";

interface QueueProps {
  queue: PromptQueue;
  /** Takes a prompt, which is removed from the queue, into the prompt form. */
  onEdit: (prompt: Queued) => void;
}

/** The queued prompts of a session, each to edit or to remove. */
export function QueueView({ queue, onEdit }: QueueProps) {
  const prompts = queue.prompts.value;
  const paused = queue.paused.value;
  if (prompts.length === 0) return null;
  const edit = (prompt: Queued): void => {
    if (queue.remove(prompt.id)) onEdit(prompt);
  };
  return (
    <section class="queued" aria-label="Queued prompts">
      <p class="composer-note" role="status">
        {paused === "" ? `${plural(prompts.length, "prompt")} queued until the reply is complete` : `${paused} ${plural(prompts.length, "prompt")} not sent`}
        {paused !== "" && <button type="button" class="link" onClick={() => queue.resume()}>Send next prompt</button>}
      </p>
      <ol>
        {prompts.map((p) => (
          <li key={p.id}>
            <span class="queued-text" title={p.text}>{p.text || plural(p.files.length, "file")}</span>
            {p.text !== "" && p.files.length > 0 && <span class="quiet">{plural(p.files.length, "file")}</span>}
            <IconButton icon="edit" label="Edit queued prompt" onClick={() => edit(p)} />
            <IconButton icon="close" label="Remove queued prompt" onClick={() => { queue.discard(p); document.getElementById("prompt")?.focus(); }} />
          </li>
        ))}
      </ol>
    </section>
  );
}
