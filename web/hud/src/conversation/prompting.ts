import { useEffect, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import { canBeSent, contentOf } from "../store/drafts.ts";
import { MAX_QUEUED, queueOf, type PromptQueue } from "../store/prompt-queue.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import type { Drafting } from "./drafting.ts";

/** Maximum time between two presses of Escape that stop the reply, in milliseconds. */
const TWICE_MS = 2000;

/** Prompting sends the prompt in the form, or queues it during a reply. */
export interface Prompting {
  queue: PromptQueue;
  /** A reply runs. */
  running: boolean;
  canSend: boolean;
  canQueue: boolean;
  send: () => void;
  /** The next Escape stops the reply. */
  stopsNext: boolean;
  /** Cancels one thing at a time, and reports whether there was one. Only a second press stops a reply. */
  escape: () => boolean;
}

/** usePrompting sends what is drafted. putBack also puts back the files that were changed since an edited prompt. */
export function usePrompting(view: SessionView, { prompt, leave }: Drafting, putBack: boolean): Prompting {
  const edited = view.editing.value;
  const running = view.busy.value;
  const queue = queueOf(view.id);
  const [stopsNext, offerStop] = useStopsNext(view);
  const canQueue = running && !edited && canBeSent(prompt);
  const canSend = !running && isOpen.value && canBeSent(prompt);

  const send = (): void => {
    if (canQueue) {
      if (queue.add(prompt)) leave();
      else toast(`Cannot queue the prompt: the queue has ${MAX_QUEUED} prompts`, { bad: true });
    }
    if (!canSend) return;
    const blocks = contentOf(prompt);
    const sent = edited ? view.promptInstead(edited.message.id, blocks, undefined, putBack) : view.prompt(blocks);
    sent.catch(failed("Cannot send the prompt"));
    leave();
  };

  const escape = (): boolean => {
    if (edited) leave();
    else if (running && stopsNext) view.cancel();
    else if (running) offerStop();
    else return false;
    return true;
  };
  return { queue, running, canSend, canQueue, send, stopsNext: running && stopsNext, escape };
}

/**
 * useStopsNext returns whether the next Escape stops the reply: after one, for a short time, during the same turn. The offer is
 * of a turn, so that one made right after the start of a turn stands.
 */
function useStopsNext(view: SessionView): [boolean, () => void] {
  const [offered, offer] = useState<string | null>(null);
  const turn = view.running.value?.turnId ?? "";
  useEffect(() => {
    if (offered === null) return;
    const timer = setTimeout(() => offer(null), TWICE_MS);
    return () => clearTimeout(timer);
  }, [offered]);
  return [offered === turn, () => offer(turn)];
}
