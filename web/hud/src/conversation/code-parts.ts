import type { CodePart } from "./content.tsx";

const all = (lang: string, text: string): CodePart => ({ lang, from: 0, to: text.length });

/** jsonCode returns the part of a text that is JSON: all of it, or nothing. */
export const jsonCode = (text: string): CodePart | undefined => (/^\s*[[{]/.test(text) ? all("json", text) : undefined);

/** codeOfFile returns the part of a result that is a file of a path: between its fences. Another result may be JSON. */
export function codeOfFile(text: string, path: string | undefined): CodePart | undefined {
  const open = /^(`{3,}).*\n/m.exec(text.slice(0, 2000));
  if (!open || path === undefined) return jsonCode(text);
  const from = open.index + open[0].length;
  const close = text.lastIndexOf(`\n${open[1] ?? ""}`);
  return { lang: path, from, to: close < from ? text.length : close };
}

/** codeOfOutput returns the part of the output of a command that is code: a diff or JSON. */
export const codeOfOutput = (text: string): CodePart | undefined =>
  /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 4000)) ? all("diff", text) : jsonCode(text);
