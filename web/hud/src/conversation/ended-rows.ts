import type { Entry } from "../store/transcript.ts";
import { unanswered } from "../store/unanswered.ts";
import type { Row, Shown } from "./rows.ts";

/** Ended is the part of a row that says how a turn ended without a complete reply. The row's entry is the prompt. */
export interface Ended {
  kind: "ended";
  /** It is the newest prompt of the view, and nothing runs: it can be sent again in its place, and removed. */
  newest: boolean;
  /** A part of the reply is in the transcript. */
  replied: boolean;
  /** Steps are finished, from which the turn can go on. */
  steps: boolean;
}

/** EndedRows makes the rows below prompts without a complete reply, while the groups of a transcript pass in their order. */
export class EndedRows {
  private readonly open: ReturnType<typeof unanswered>;
  private readonly newest: Entry | undefined;
  private prompt: Entry | undefined;
  private replied = false;

  constructor({ entries, tail, idle }: Shown) {
    this.open = idle && tail.length === 0 ? unanswered(entries) : null;
    this.newest = idle && tail.length === 0 ? entries.findLast((e) => e.message.role === "user" && e.message.inView) : undefined;
  }

  /** before returns the row that comes before a group, the end of the prompt before it; null for none. */
  before(group: readonly Entry[]): Row | null {
    const first = group[0];
    if (first?.message.role !== "user") {
      this.replied ||= group.some((e) => e.message.role === "assistant");
      return null;
    }
    const row = this.last();
    this.prompt = first;
    this.replied = false;
    return row;
  }

  /** last returns the row of the newest prompt, null for none. */
  last(): Row | null {
    const { prompt, replied } = this;
    const isOpen = prompt !== undefined && prompt === this.open?.prompt;
    if (!prompt || !(isOpen || endsWithout(prompt, replied))) return null;
    const newest = prompt === this.newest;
    return { key: `${prompt.key}/ended`, entry: prompt, tone: "user", edge: "", kind: "ended", newest, replied, steps: isOpen && (this.open?.steps ?? false) };
  }
}

/** endsWithout reports whether a row says that a prompt has no complete reply. That it was stopped, its partial reply says. */
function endsWithout({ message }: Entry, replied: boolean): boolean {
  if (!message.ended || (message.ended.status === "cancelled" && replied)) return false;
  return message.inView || message.view?.state === "unanswered";
}
