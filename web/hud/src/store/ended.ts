import type { ProviderFailure, TurnEnd } from "@strata/client";
import { undo } from "./compaction.ts";
import type { SessionView } from "./session.ts";
import type { Entry } from "./transcript.ts";
import { failed, undoable } from "./toasts.ts";

/** failureOf returns the parts of a provider's failure that are as the protocol says. Stored errors can have any data. */
export function failureOf(end: TurnEnd | undefined): Pick<ProviderFailure, "provider" | "kind" | "attempts"> {
  const { provider, kind, attempts } = (end?.error?.data ?? {}) as Partial<ProviderFailure>;
  return {
    ...(typeof provider === "string" ? { provider } : {}), ...(typeof kind === "string" ? { kind } : {}),
    ...(typeof attempts === "number" ? { attempts } : {}),
  };
}

/** removePrompt removes the newest prompt, and what there is of its reply, from the view. It offers an undo. */
export async function removePrompt(view: SessionView, prompt: Entry): Promise<void> {
  try {
    const done = await view.call("_strata/checkpoint/restore", { beforeMessageId: firstFailed(view.transcript.entries.peek(), prompt).message.id });
    undoable("Prompt removed from the view.", () => undo(view, "seq" in done ? done.seq : undefined));
  } catch (error) {
    failed("Cannot remove the prompt")(error);
  }
}

/** firstFailed returns the first of the failed prompts directly before a prompt, which would return to the view with a restore to the place before it. */
function firstFailed(entries: readonly Entry[], prompt: Entry): Entry {
  let at = entries.findIndex((e) => e.message.id === prompt.message.id);
  while (entries[at - 1]?.message.view?.state === "unanswered") at--;
  return entries[at] ?? prompt;
}
