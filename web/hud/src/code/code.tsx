import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Runs } from "./colors.ts";
import { kinds } from "./kinds.ts";

/** Maximum characters of a text with colors. */
const MAX_CHARS = 200_000;

let colors: typeof import("./colors.ts") | undefined;

/**
 * useRuns returns the runs of a text, none until they are known. The language is the word after a code fence or the path
 * of a file. A text without a language has no colors; one that still grows must have none.
 */
export function useRuns(lang: string, text: string): Runs | undefined {
  const [found, set] = useState<{ lang: string; text: string; runs: Runs }>();
  const wanted = lang !== "" && text !== "" && text.length <= MAX_CHARS;
  useEffect(() => {
    if (!wanted) return;
    let end: (() => void) | undefined;
    let left = false;
    const ask = (): void => {
      if (!left) end = colors?.color(lang, text, (runs) => set({ lang, text, runs }));
    };
    if (colors) ask();
    else import("./colors.ts").then((module) => { colors = module; ask(); }, () => {}); // without it, the text has no colors
    return () => {
      left = true;
      end?.();
    };
  }, [lang, text, wanted]);
  if (!wanted) return undefined;
  return found?.lang === lang && found.text === text ? found.runs : colors?.known(lang, text);
}

/** painted returns a part of a text, from an offset on, in its colors. Its characters can be shown otherwise. */
export function painted(text: string, runs: Runs | undefined, from = 0, shown: (part: string) => string = (part) => part): ComponentChildren {
  if (!runs || runs.length === 0) return shown(text);
  const parts: ComponentChildren[] = [];
  const end = from + text.length;
  let at = 0;
  for (let i = 0; i < runs.length && at < end; i += 2) {
    const to = at + (runs[i] ?? 0);
    const kind = kinds[runs[i + 1] ?? 0] ?? "plain";
    if (to > from) {
      const part = shown(text.slice(Math.max(at, from) - from, to - from));
      parts.push(kind === "plain" ? part : <span class={`code-${kind}`}>{part}</span>);
    }
    at = to;
  }
  if (at < end) parts.push(shown(text.slice(Math.max(at, from) - from)));
  return parts;
}

/** A text in the colors of its language. */
export function Code({ lang, text }: { lang: string; text: string }) {
  return <>{painted(text, useRuns(lang, text))}</>;
}
