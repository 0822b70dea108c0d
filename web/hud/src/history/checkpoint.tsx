import { useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";

/** A form that creates a checkpoint of the current state. */
export function NewCheckpoint({ view }: { view: SessionView }) {
  const [name, setName] = useState("");
  const create = (): void => {
    view.call("_strata/checkpoint/create", { name: name.trim() }).then(
      (made) => {
        setName("");
        view.checkpoints.changed();
        toast(`Checkpoint “${made.name}” created.`);
      },
      failed("Cannot create the checkpoint"),
    );
  };
  return (
    <form class="one-line" onSubmit={(e) => { e.preventDefault(); create(); }}>
      <input class="field" type="text" id="checkpoint-name" aria-label="Checkpoint name" placeholder="Checkpoint name" value={name} onInput={(e) => setName(e.currentTarget.value)} />
      <button type="submit" class="button" disabled={name.trim() === "" || !isOpen.value}>Create checkpoint</button>
    </form>
  );
}
