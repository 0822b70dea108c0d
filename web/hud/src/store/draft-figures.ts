import { signal } from "@preact/signals";
import { ErrorCode } from "@strata/client";
import type { ContentBlock, DraftFigures } from "@strata/client";
import { offers } from "./connection.ts";
import { canBeSent, contentOf, contentSize, type Draft } from "./drafts.ts";

/** Time from the last change of a draft until it is measured, in milliseconds, and for a draft with this many characters of files. */
const MEASURED_AFTER = 250;
const LARGE_AFTER = 1000;
const LARGE = 1 << 20;

/** The measurement of the draft in the prompt of a session: at most one runs, of the newest draft. */
export class DraftMeter {
  /** The figures of the newest draft; undefined for none. Those of the draft before remain until they come. */
  readonly figures = signal<DraftFigures | undefined>(undefined);
  /** The prompt that these figures are of. */
  measured: ContentBlock[] = [];

  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | undefined;

  constructor(private readonly measure: (prompt: ContentBlock[], signal: AbortSignal) => Promise<DraftFigures>) {}

  /** draft measures a draft soon, null for none. A slash command is not measured: it may be no prompt. */
  draft(draft: Draft | null): void {
    this.stop();
    if (draft === null || !canBeSent(draft) && draft.files.length === 0 || draft.text.startsWith("/") || !offers("_strata/context/draft")) {
      this.figures.value = undefined;
      return;
    }
    const size = draft.files.reduce((sum, file) => sum + contentSize(file), 0);
    this.timer = setTimeout(() => void this.run(contentOf(draft)), size > LARGE ? LARGE_AFTER : MEASURED_AFTER);
  }

  /** stop ends the measurement of the draft. */
  stop(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = undefined;
  }

  private async run(prompt: ContentBlock[]): Promise<void> {
    const running = new AbortController();
    this.running = running;
    try {
      const figures = await this.measure(prompt, running.signal);
      if (running.signal.aborted) return;
      this.measured = prompt;
      this.figures.value = figures;
    } catch (error) {
      const isReplaced = (error as { code?: number }).code === ErrorCode.cancelled;
      if (!running.signal.aborted && !isReplaced) this.figures.value = undefined; // the prompt can be sent all the same, and its own error says why
    }
  }
}
