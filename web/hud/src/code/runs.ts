import type { Emitter } from "highlight.js";
import highlighter from "highlight.js/lib/core";
import { languageOf, load, type Language } from "./languages.ts";
import { kinds, type Kind } from "./kinds.ts";

/** The kinds of the grammars' scopes. Parts of a scope that is not listed have the kind of the scope around it. */
const ofScopes: Record<string, Kind> = {
  keyword: "keyword", "selector-tag": "keyword", name: "keyword", section: "title", "meta": "keyword", doctag: "keyword", "template-tag": "keyword",
  string: "string", regexp: "string", char: "string", link: "string", code: "string", "meta.string": "string",
  number: "number", literal: "number", symbol: "number", bullet: "number", "variable.constant": "number",
  comment: "comment", quote: "comment",
  title: "title", type: "title", built_in: "title", class: "title", "selector-class": "title", "selector-id": "title",
  attr: "attr", attribute: "attr", property: "attr", variable: "attr", "template-variable": "attr", "selector-attr": "attr", "selector-pseudo": "attr",
  addition: "added", deletion: "removed",
  subst: "plain", params: "plain", tag: "plain",
};

const kindOf = (scope: string): number | undefined => {
  const kind = ofScopes[scope] ?? ofScopes[scope.replace(/\..*$/, "")];
  return kind && kinds.indexOf(kind);
};

/** Collector turns the tokens of a text into runs: pairs of a length and the index of a kind. Neighbors of one kind are one run. */
class Collector implements Emitter {
  readonly runs: number[] = [];
  private readonly around: number[] = [0];

  startScope(scope: string): void {
    this.around.push(kindOf(scope) ?? this.kind);
  }

  endScope(): void {
    if (this.around.length > 1) this.around.pop();
  }

  // The library calls both pairs, of which its types have one.
  openNode(scope: string): void {
    this.startScope(scope);
  }

  closeNode(): void {
    this.endScope();
  }

  addText(text: string): void {
    this.add(text.length, this.kind);
  }

  __addSublanguage(inner: Emitter): void {
    const { runs } = inner as Collector;
    for (let i = 0; i < runs.length; i += 2) this.add(runs[i] ?? 0, runs[i + 1] || this.kind);
  }

  finalize(): void {}

  toHTML(): string {
    return "";
  }

  private get kind(): number {
    return this.around.at(-1) ?? 0;
  }

  private add(length: number, kind: number): void {
    const last = this.runs.length - 2;
    if (last >= 0 && this.runs[last + 1] === kind) this.runs[last] = (this.runs[last] ?? 0) + length;
    else if (length > 0) this.runs.push(length, kind);
  }
}

highlighter.configure({ __emitter: Collector });

const registered = new Map<Language, Promise<void>>();

function register(language: Language): Promise<void> {
  let done = registered.get(language);
  if (!done) {
    done = load(language).then((all) => all.forEach(([name, grammar]) => {
      if (!highlighter.getLanguage(name)) highlighter.registerLanguage(name, grammar);
    }));
    done.catch(() => registered.delete(language));
    registered.set(language, done);
  }
  return done;
}

/** runsOf returns the runs of a text, null if the language is unknown. */
export async function runsOf(lang: string, text: string): Promise<number[] | null> {
  const language = languageOf(lang);
  if (!language) return null;
  await register(language);
  const { _emitter } = highlighter.highlight(text, { language, ignoreIllegals: true });
  return (_emitter as Collector).runs;
}
