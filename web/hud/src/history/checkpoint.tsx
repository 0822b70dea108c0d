import { useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";

/** A field that names the present state of the session. */
export function NewCheckpoint({ view }: { view: SessionView }) {
  const [name, setName] = useState("");
  const create = (): void => {
    view.call("_strata/checkpoint/create", { name: name.trim() }).then(
      (made) => {
        setName("");
        view.checkpoints.changed();
        toast(`The present state is called “${made.name}”.`);
      },
      failed("The checkpoint could not be made"),
    );
  };
  return (
    <form class="one-line" onSubmit={(e) => { e.preventDefault(); create(); }}>
      <input class="field" type="text" id="checkpoint-name" aria-label="Name of the present state" placeholder="Name the present state" value={name} onInput={(e) => setName(e.currentTarget.value)} />
      <button type="submit" class="button" disabled={name.trim() === "" || !isOpen.value}>Make a checkpoint</button>
    </form>
  );
}
