import "../app.tsx"; // the build then keeps the first load in one file
import type { ListedMessage } from "@strata/client";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { sessionAddress } from "../routes.ts";
import type { SessionView } from "../store/session.ts";
import { joinResults } from "../store/tool-calls.ts";
import { count, fully, plural } from "../text/format.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Printed } from "./load.ts";
import { PrintedMessage } from "./message.tsx";
import { asked } from "./open.ts";

/** The whole session as a document to print, without the page around it. */
export function PrintPage({ view }: { view: SessionView }) {
  const printed = useMemo(() => new Printed(view), [view]);
  const missing = view.phase.value === "missing";
  useEffect(() => {
    void printed.load();
    return () => printed.close();
  }, [printed]);
  const messages = printed.messages.value;
  const all = useFetched(view.info)?.messages ?? 0;
  return (
    <main class="print-page" id="main" tabIndex={-1}>
      <nav class="print-actions" aria-label="Print view">
        <a class="button" href={sessionAddress(view.id)}>Back to session</a>
        {messages && <PrintButton key={view.id} messages={messages} />}
      </nav>
      <header class="print-title">
        <h1 dir="auto">{view.title.value || "Untitled session"}</h1>
        <p class="quiet"><bdi>{view.cwd.value}</bdi></p>
        {messages && <p class="quiet" role="status">{printed.older.value ? `The newest ${count(messages.length)} of ${plural(all, "message")}` : plural(messages.length, "message")}, printed {fully(new Date().toISOString())}</p>}
      </header>
      {messages ? <Messages messages={messages} folder={view.cwd.value} />
        : missing ? <Empty title="Session not found"><p>It may have been deleted.</p></Empty>
        : printed.problem.value !== "" ? <Empty title="Cannot load the messages"><p>{printed.problem.value}</p><button type="button" class="button" onClick={() => void printed.load()}>Try again</button></Empty>
        : <Loading loaded={printed.loaded.value} all={all} />}
    </main>
  );
}

function Loading({ loaded, all }: { loaded: number; all: number }) {
  return (
    <div class="print-loading" role="status">
      <p>{all > 0 ? `${count(loaded)} of ${plural(all, "message")}` : plural(loaded, "message")}</p>
      <Progress value={all > 0 ? Math.min(loaded / all, 1) : undefined} label="Loading the messages" />
    </div>
  );
}

/** Prints. If the view was opened to print, that happens when everything is drawn. */
function PrintButton({ messages }: { messages: readonly ListedMessage[] }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current?.focus({ preventScroll: true });
    if (!asked.print) return;
    asked.print = false;
    const frame = requestAnimationFrame(() => window.print());
    return () => cancelAnimationFrame(frame);
  }, [messages]);
  return <button ref={button} type="button" class="button primary" onClick={() => window.print()}>Print</button>;
}

function Messages({ messages, folder }: { messages: readonly ListedMessage[]; folder: string }) {
  const entries = useMemo(() => messages.map((message) => ({ key: message.id, message })), [messages]);
  const results = useMemo(() => joinResults(entries), [entries]);
  return (
    <div class="print-messages">
      {entries.map((entry, i) => <PrintedMessage key={entry.key} entry={entry} continued={continues(entry.message, messages[i - 1])} results={results} folder={folder} />)}
    </div>
  );
}

/** continues reports whether a message is a further step of the reply before it. */
const continues = ({ role, turnId }: ListedMessage, before: ListedMessage | undefined): boolean =>
  role !== "user" && !!turnId && before?.role !== "user" && before?.turnId === turnId;
