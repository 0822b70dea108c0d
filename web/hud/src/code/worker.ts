import { runsOf } from "./runs.ts";

/** Request asks for the runs of a text. The language is the word after a code fence, or the path of a file. */
export interface Request {
  id: number;
  lang: string;
  text: string;
}

/** Reply has no runs for a language that is unknown. */
export interface Reply {
  id: number;
  runs: number[] | null;
}

// The page can end a worker at any time: whatever a text costs, it does not block the page.
addEventListener("message", (event: MessageEvent<Request>) => {
  const { id, lang, text } = event.data;
  const reply = (runs: number[] | null): void => postMessage({ id, runs } satisfies Reply);
  runsOf(lang, text).then(reply, () => reply(null));
});
