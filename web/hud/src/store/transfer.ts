import { importLines, pages } from "@strata/client";
import { outside } from "../outside.ts";
import { call } from "./connection.ts";
import { failed, toast } from "./toasts.ts";
import { transfers } from "./transfers.ts";

let last = 0;

async function run(verb: "export" | "import", object: string, work: (signal: AbortSignal, progress: (done: number) => void) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const id = ++last;
  transfers.value = [...transfers.value, { id, label: `${verb === "export" ? "Exporting" : "Importing"} ${object}`, done: undefined, cancel: () => stop.abort() }];
  const progress = (done: number): void => {
    transfers.value = transfers.value.map((t) => (t.id === id ? { ...t, done } : t));
  };
  try {
    await work(stop.signal, progress);
  } catch (error) {
    if (!stop.signal.aborted) failed(`Cannot ${verb} ${object}`)(error);
  } finally {
    transfers.value = transfers.value.filter((t) => t.id !== id);
  }
}

/** exportSession downloads a session as a JSON Lines file. */
export function exportSession(sessionId: string, title: string): Promise<void> {
  return run("export", `“${title}”`, async (signal, progress) => {
    const total = (await call("_strata/session/info", { sessionId }, { signal })).messages;
    const parts: Blob[] = [];
    let messages = 0;
    for await (const { lines } of pages({ call }, "_strata/session/export", { sessionId }, { signal })) {
      parts.push(new Blob([lines.map((line) => JSON.stringify(line) + "\n").join("")]));
      messages += lines.filter((line) => line.type === "message").length;
      progress(total > 0 ? Math.min(messages / total, 1) : 1);
    }
    outside.save(new Blob(parts, { type: "application/x-ndjson" }), `${fileName(title) || sessionId}.jsonl`);
  });
}

const fileName = (title: string): string => title.replace(/[^\p{L}\p{N} _.-]/gu, "").trim().slice(0, 60);

/** importSession imports an export file as a new session and calls opened with its id. */
export function importSession(file: File, opened: (id: string) => void): Promise<void> {
  return run("import", file.name, async (signal, progress) => {
    let read = 0;
    const lines = linesOf(file, signal, (bytes) => (read += bytes));
    const id = await importLines({ call }, lines, { signal, onPage: () => progress(file.size > 0 ? read / file.size : 1) });
    toast(`${file.name} imported.`);
    opened(id);
  });
}

async function* linesOf(file: File, signal: AbortSignal, read: (bytes: number) => void): AsyncGenerator<string> {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    signal.throwIfAborted();
    const { done, value } = await reader.read();
    if (done) break;
    read(value.byteLength);
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
