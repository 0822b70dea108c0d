import type { ResultPart } from "./calls.ts";

/** CommandLine is the input of a call that runs a command. */
export interface CommandLine {
  line: string;
  /** The folder in which it runs; "" for that of the session. */
  folder: string;
  /** Its time limit in seconds; 0 for that of the server. */
  seconds: number;
}

/** commandOf returns the command in the input of a call; undefined if the call runs none, or while its input arrives. */
export function commandOf(kind: string, input: string): CommandLine | undefined {
  if (kind !== "execute") return undefined;
  try {
    const { command, cwd, timeout_s: seconds } = JSON.parse(input) as Record<string, unknown>;
    if (typeof command !== "string" || command === "") return undefined;
    return { line: command, folder: typeof cwd === "string" ? cwd : "", seconds: typeof seconds === "number" ? seconds : 0 };
  } catch {
    return undefined;
  }
}

/** isWhole reports whether a title contains the whole command. */
export const isWhole = ({ line, folder, seconds }: CommandLine, title: string): boolean => line === title && folder === "" && seconds === 0;

/** Ended is the result of a command: its outcome, in a few words, and its output. */
export interface Ended {
  outcome: string;
  output: string;
}

/** Characters of an outcome. */
const MAX_OUTCOME = 120;

/** ended splits the result of a command into its first line and its output; undefined for another result. */
export function ended(part: ResultPart | undefined): Ended | undefined {
  if (part?.type !== "text" || !part.text) return undefined;
  const end = part.text.indexOf("\n");
  const outcome = (end < 0 ? part.text : part.text.slice(0, end)).trim().replace(/:$/, "");
  if (outcome === "" || outcome.length > MAX_OUTCOME) return undefined;
  return { outcome, output: end < 0 ? "" : part.text.slice(end + 1) };
}

/** SUCCESS is the outcome of a command that has succeeded. */
export const SUCCESS = "Exit code 0";
