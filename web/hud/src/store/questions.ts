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

  /** goOn keeps what the user has typed in a question that asks the same. */
  goOn(from: Question): void {
    this.words.value = from.words.peek();
    this.wording.value = from.wording.peek();
  }

  /** end ends a question that the server no longer asks. */
  end(): void {
    this.settle({ outcome: { outcome: "cancelled" } });
  }
}

/** The open questions of all sessions that this page is subscribed to, oldest first. */
export const questions = signal<readonly Question[]>([]);

/** The newest question that the server ended. It asks again after a lost connection, or if the approval has changed. */
let ended: Question | null = null;

/** ask asks the user. A question ends when this client, another one or nobody answers it. */
export const ask: RequestHandler<"session/request_permission"> = (params, { signal: abort }) =>
  new Promise((resolve) => {
    const question: Question = new Question(params, (result) => {
      questions.value = questions.peek().filter((q) => q !== question);
      resolve(result);
    });
    if (ended?.call.toolCallId === question.call.toolCallId) question.goOn(ended);
    abort.addEventListener("abort", () => {
      ended = question;
      question.end();
    });
    questions.value = [...questions.peek(), question];
  });

/** questionsOf returns the open questions of a session. */
export const questionsOf = (sessionId: string): readonly Question[] => questions.value.filter((q) => q.sessionId === sessionId);
