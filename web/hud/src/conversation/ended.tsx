import { failureOf, removePrompt } from "../store/ended.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { serverAddress } from "../routes.ts";
import type { Ended } from "./ended-rows.ts";
import type { Row } from "./rows.ts";

interface EndedProps {
  row: Ended & Exclude<Row, { kind: "summary" }>;
  view: SessionView;
}

/** How a turn ended without a complete reply, below its prompt, and what can be done about it. */
export function EndedView({ row, view }: EndedProps) {
  const { newest } = row;
  const status = row.entry.message.ended?.status;
  const mild = status === undefined || status === "cancelled" ? " mild" : "";
  return (
    <div class={`ended${mild}${newest ? " failure" : ""}`} data-ended={status ?? "unknown"}>
      <p>{[reasonOf(row), newest ? consequence(row) : ""].filter((t) => t !== "").join(" ")}</p>
      <Actions row={row} view={view} />
    </div>
  );
}

function Actions({ row, view }: EndedProps) {
  const { entry, newest, steps } = row;
  const { provider, kind } = failureOf(entry.message.ended);
  const again = newest || !entry.message.inView;
  return (
    <span class="ended-actions">
      {newest && kind === "auth" && provider && <a class="button" href={serverAddress(provider)}>Set key of {provider}</a>}
      {again && view.canRestore && (
        <button type="button" class={newest ? "button" : "link"} disabled={view.busy.value} onClick={() => void view.again(entry).catch(failed("Cannot send the prompt again"))}>
          {steps ? "Continue reply" : "Send again"}
        </button>
      )}
      {newest && view.canRestore && (
        <button type="button" class="button" disabled={view.busy.value} onClick={() => { void removePrompt(view, entry); document.getElementById("prompt")?.focus(); }}>Remove</button>
      )}
    </span>
  );
}

const WORDS = { failed: "The reply failed.", interrupted: "The server stopped before the reply was complete.", cancelled: "Stopped before a reply." } as const;

/** reasonOf says why there is no complete reply. */
function reasonOf({ entry, steps }: Ended & { entry: EndedProps["row"]["entry"] }): string {
  const { ended } = entry.message;
  if (!ended) return steps ? "The reply to the last prompt is incomplete." : "No reply to this prompt.";
  if (ended.status === "cancelled" && steps) return "The reply was stopped.";
  const why = ended.error?.message ?? WORDS[ended.status] ?? ended.status;
  const { attempts = 0 } = failureOf(ended);
  return attempts > 1 ? `After ${attempts} attempts: ${sentence(why)}` : sentence(why);
}

/** consequence says what the next request contains of the newest prompt. */
function consequence({ entry, replied, steps }: EndedProps["row"]): string {
  const { ended } = entry.message;
  if (steps) return ended ? "Its finished steps stay in the view." : "";
  if (replied) return "";
  return ended?.status === "cancelled" ? "Your next prompt is sent with this one." : "Your next prompt is sent without this one.";
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
