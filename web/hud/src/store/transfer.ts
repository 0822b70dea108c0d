import type { TransferLine } from "@strata/client";
import { outside } from "../outside.ts";
import { call } from "./connection.ts";
import { failed, toast } from "./toasts.ts";
import { transfers } from "./transfers.ts";

/** Maximum lines and characters in a page of an import. */
const PAGE_LINES = 400;
const PAGE_CHARS = 1 << 20;

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
    let cursor: string | undefined;
    let messages = 0;
    do {
      const page: { lines: TransferLine[]; nextCursor?: string } = await call(
        "_strata/session/export", { sessionId, ...(cursor ? { cursor } : {}) }, { signal });
      parts.push(new Blob([page.lines.map((line) => JSON.stringify(line) + "\n").join("")]));
      messages += page.lines.filter((line) => line.type === "message").length;
      progress(total > 0 ? Math.min(messages / total, 1) : 1);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    outside.save(new Blob(parts, { type: "application/x-ndjson" }), `${fileName(title) || sessionId}.jsonl`);
  });
}

const fileName = (title: string): string => title.replace(/[^\p{L}\p{N} _.-]/gu, "").trim().slice(0, 60);

/** importSession imports an export file as a new session and calls opened with its id. */
export function importSession(file: File, opened: (id: string) => void): Promise<void> {
  return run("import", file.name, async (signal, progress) => {
    const send = new ImportPages(signal);
    let read = 0;
    for await (const line of linesOf(file, signal, (bytes) => (read += bytes))) {
      if (line.trim() === "") continue;
      if (await send.add(line)) progress(file.size > 0 ? read / file.size : 1);
    }
    const id = await send.finish();
    toast(`${file.name} imported.`);
    opened(id);
  });
}

/** ImportPages sends lines in pages. The session appears after the last page. */
class ImportPages {
  private lines: TransferLine[] = [];
  private chars = 0;
  private importId: string | undefined;

  constructor(private readonly signal: AbortSignal) {}

  /** add adds a line and reports whether that sent a page. */
  async add(line: string): Promise<boolean> {
    this.lines.push(JSON.parse(line) as TransferLine);
    this.chars += line.length;
    if (this.lines.length < PAGE_LINES && this.chars < PAGE_CHARS) return false;
    await this.send(false);
    return true;
  }

  async finish(): Promise<string> {
    const id = await this.send(true);
    if (!id) throw new Error("the server returned no session id");
    return id;
  }

  private async send(done: boolean): Promise<string | undefined> {
    const response = await call(
      "_strata/session/import",
      { lines: this.lines, ...(this.importId ? { importId: this.importId } : {}), ...(done ? { done } : {}) },
      { signal: this.signal });
    this.importId = response.importId ?? this.importId;
    this.lines = [];
    this.chars = 0;
    return response.sessionId;
  }
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
