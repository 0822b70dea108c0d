import { signal } from "@preact/signals";
import type { RequestHandler, ServerRequests } from "@strata/client";

type Asked = ServerRequests["session/request_permission"];

/** Question is a request of the server to the user: may a call run? */
export class Question {
  readonly sessionId: string;
  readonly call: Asked["params"]["toolCall"];
  readonly options: Asked["params"]["options"];
  /** What the user has typed to the model so far. The page keeps it if it draws the question again. */
  readonly words = signal("");
  /** The field for the words is open. */
  readonly wording = signal(false);
  /** The field takes the focus when it is drawn next: the user has opened it, or was in it when the question ended. */
  takesFocus = false;

  constructor(
    params: Asked["params"],
    private readonly settle: (result: Asked["result"]) => void,
  ) {
    this.sessionId = params.sessionId;
    this.call = params.toolCall;
    this.options = params.options;
  }

  /** answer selects an option. The words are for a rejection; empty for none. */
  answer(optionId: string, words = ""): void {
    const message = words.trim();
    this.settle({ outcome: { outcome: "selected", optionId }, ...(message === "" ? {} : { _meta: { strata: { message } } }) });
  }

  /** word opens the field for the words. */
  word(): void {
    this.takesFocus = true;
    this.wording.value = true;
  }

  /** replaces reports whether this question is about the same call as an older one, and keeps what the user has typed there. */
  replaces(older: Question): boolean {
    if (older.sessionId !== this.sessionId || older.call.toolCallId !== this.call.toolCallId) return false;
    this.words.value = older.words.peek();
    this.wording.value = older.wording.peek();
    this.takesFocus = older.takesFocus;
    return true;
  }

  /** end ends a question that the server no longer asks. */
  end(): void {
    this.settle({ outcome: { outcome: "cancelled" } });
  }
}

/** The open questions of all sessions that this page is subscribed to, oldest first, one for each call. */
export const questions = signal<readonly Question[]>([]);

/**
 * The newest question that the server ended. After a lost connection, or if the approval has changed, it asks the same
 * again: before or after the end of the older question.
 */
let ended: Question | null = null;

/** ask asks the user. The question ends when this client or another one answers it, or the server no longer asks. */
export const ask: RequestHandler<"session/request_permission"> = (params, { signal: abort }) =>
  new Promise((resolve) => {
    const question: Question = new Question(params, (result) => {
      questions.value = questions.peek().filter((q) => q !== question);
      resolve(result);
    });
    if (ended) question.replaces(ended);
    abort.addEventListener("abort", () => {
      ended = question;
      question.end();
    });
    questions.value = [...questions.peek().filter((q) => !question.replaces(q)), question];
  });

/** questionsOf returns the open questions of a session. */
export const questionsOf = (sessionId: string): readonly Question[] => questions.value.filter((q) => q.sessionId === sessionId);
