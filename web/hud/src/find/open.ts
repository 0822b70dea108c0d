import { signal } from "@preact/signals";
import { route } from "../routes.ts";

/** The session in which the find bar is open, "" for none. A number that grows with each request focuses its field again. */
export const finding = signal({ sessionId: "", asked: 0 });

/**
 * find opens the find bar of the open session, or focuses its field. It returns false if the browser's own search is wanted:
 * the field has the focus already, or something beside the conversation has it.
 */
export function find(): void | false {
  const here = route.peek();
  const at = document.activeElement;
  if (here.page !== "session" || !document.querySelector(".transcript") || at?.closest(".find, .sidebar, .inspector")) return false;
  finding.value = { sessionId: here.id, asked: finding.peek().asked + 1 };
}

export function endFind(): void {
  finding.value = { sessionId: "", asked: finding.peek().asked };
}
