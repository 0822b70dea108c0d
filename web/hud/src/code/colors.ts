import type { Reply, Request } from "./worker.ts";

/** Runs divide a text: pairs of a length and the index of a kind. */
export type Runs = readonly number[];

/** Starts the worker, which `make hud` builds beside the page. */
let start = (): Worker => new Worker("/assets/hud-code.js", { type: "module" });

/** useWorker sets how the worker is started, for a page with another place for it. */
export const useWorker = (other: () => Worker): void => void (start = other);

/** Time after which a text stays plain, in milliseconds, and the number of such texts after which all stay plain. */
const MAX_MS = 4000;
const MAX_FAILURES = 5;

/** Maximum characters of the texts whose runs are kept. */
const MAX_KEPT = 2 << 20;

interface Job {
  lang: string;
  text: string;
  done: Set<(runs: Runs) => void>;
}

const NONE: Runs = [];

/** The runs of texts, those used last at the end, and the characters of the texts. */
const kept = new Map<string, Runs>();
let chars = 0;

/** The texts that wait, and the one that the worker has. */
const waiting = new Map<string, Job>();
let busy: { key: string; job: Job; id: number; timer: ReturnType<typeof setTimeout> } | null = null;

let worker: Worker | null = null;
let failures = 0;
let ids = 0;

const keyOf = (lang: string, text: string): string => `${lang}\n${text}`;

/** known returns the runs of a text if they are kept. */
export function known(lang: string, text: string): Runs | undefined {
  const key = keyOf(lang, text);
  const runs = kept.get(key);
  if (runs) {
    kept.delete(key);
    kept.set(key, runs);
  }
  return runs;
}

/** color calls done with the runs of a text, none if it has no colors. It returns the end of the interest in them. */
export function color(lang: string, text: string, done: (runs: Runs) => void): () => void {
  const key = keyOf(lang, text);
  const runs = known(lang, text);
  if (runs || failures >= MAX_FAILURES) {
    done(runs ?? NONE);
    return () => {};
  }
  const job = busy?.key === key ? busy.job : (waiting.get(key) ?? { lang, text, done: new Set() });
  job.done.add(done);
  if (busy?.job !== job) waiting.set(key, job);
  next();
  return () => {
    job.done.delete(done);
    if (job.done.size === 0) waiting.delete(key);
  };
}

/** next gives the worker the text that was asked for last: it is most likely in sight. */
function next(): void {
  const [key, job] = [...waiting].at(-1) ?? [];
  if (busy || key === undefined || !job) return;
  waiting.delete(key);
  busy = { key, job, id: ++ids, timer: setTimeout(failed, MAX_MS) };
  started().postMessage({ id: busy.id, lang: job.lang, text: job.text } satisfies Request);
}

function started(): Worker {
  if (worker) return worker;
  worker = start();
  worker.onmessage = (event: MessageEvent<Reply>) => {
    if (event.data.id === busy?.id) finished(event.data.runs ?? NONE);
  };
  worker.onerror = failed;
  return worker;
}

/** failed ends the worker, with the text that it has. */
function failed(): void {
  worker?.terminate();
  worker = null;
  failures++;
  if (failures >= MAX_FAILURES) {
    for (const job of waiting.values()) for (const done of job.done) done(NONE);
    waiting.clear();
  }
  finished(NONE);
}

function finished(runs: Runs): void {
  if (!busy) return;
  const { key, job, timer } = busy;
  clearTimeout(timer);
  busy = null;
  keep(key, runs);
  for (const done of job.done) done(runs);
  next();
}

function keep(key: string, runs: Runs): void {
  kept.set(key, runs);
  chars += key.length;
  for (const [oldest] of kept) {
    if (chars <= MAX_KEPT || kept.size === 1) break;
    kept.delete(oldest);
    chars -= oldest.length;
  }
}
