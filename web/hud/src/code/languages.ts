import type { LanguageFn } from "highlight.js";

type Loaded = Promise<{ default: LanguageFn }>;

/** The grammars. Each is a file that is loaded when a text needs it. */
const grammars = {
  bash: (): Loaded => import("highlight.js/lib/languages/bash"),
  c: (): Loaded => import("highlight.js/lib/languages/c"),
  cmake: (): Loaded => import("highlight.js/lib/languages/cmake"),
  cpp: (): Loaded => import("highlight.js/lib/languages/cpp"),
  csharp: (): Loaded => import("highlight.js/lib/languages/csharp"),
  css: (): Loaded => import("highlight.js/lib/languages/css"),
  dart: (): Loaded => import("highlight.js/lib/languages/dart"),
  diff: (): Loaded => import("highlight.js/lib/languages/diff"),
  dockerfile: (): Loaded => import("highlight.js/lib/languages/dockerfile"),
  elixir: (): Loaded => import("highlight.js/lib/languages/elixir"),
  go: (): Loaded => import("highlight.js/lib/languages/go"),
  graphql: (): Loaded => import("highlight.js/lib/languages/graphql"),
  haskell: (): Loaded => import("highlight.js/lib/languages/haskell"),
  ini: (): Loaded => import("highlight.js/lib/languages/ini"),
  java: (): Loaded => import("highlight.js/lib/languages/java"),
  javascript: (): Loaded => import("highlight.js/lib/languages/javascript"),
  json: (): Loaded => import("highlight.js/lib/languages/json"),
  kotlin: (): Loaded => import("highlight.js/lib/languages/kotlin"),
  lua: (): Loaded => import("highlight.js/lib/languages/lua"),
  makefile: (): Loaded => import("highlight.js/lib/languages/makefile"),
  markdown: (): Loaded => import("highlight.js/lib/languages/markdown"),
  nginx: (): Loaded => import("highlight.js/lib/languages/nginx"),
  objectivec: (): Loaded => import("highlight.js/lib/languages/objectivec"),
  perl: (): Loaded => import("highlight.js/lib/languages/perl"),
  php: (): Loaded => import("highlight.js/lib/languages/php"),
  powershell: (): Loaded => import("highlight.js/lib/languages/powershell"),
  protobuf: (): Loaded => import("highlight.js/lib/languages/protobuf"),
  python: (): Loaded => import("highlight.js/lib/languages/python"),
  r: (): Loaded => import("highlight.js/lib/languages/r"),
  ruby: (): Loaded => import("highlight.js/lib/languages/ruby"),
  rust: (): Loaded => import("highlight.js/lib/languages/rust"),
  scala: (): Loaded => import("highlight.js/lib/languages/scala"),
  scss: (): Loaded => import("highlight.js/lib/languages/scss"),
  shell: (): Loaded => import("highlight.js/lib/languages/shell"),
  sql: (): Loaded => import("highlight.js/lib/languages/sql"),
  swift: (): Loaded => import("highlight.js/lib/languages/swift"),
  typescript: (): Loaded => import("highlight.js/lib/languages/typescript"),
  xml: (): Loaded => import("highlight.js/lib/languages/xml"),
  yaml: (): Loaded => import("highlight.js/lib/languages/yaml"),
};

export type Language = keyof typeof grammars;

/** The languages inside texts of a language. */
const inside: Partial<Record<Language, readonly Language[]>> = {
  xml: ["javascript", "css"], php: ["xml", "javascript", "css"], markdown: ["xml"], shell: ["bash"], dockerfile: ["bash"],
  javascript: ["xml", "css", "graphql"], typescript: ["xml", "css", "graphql"],
};

/** Other names of languages: as people write them after a code fence, and endings of files. */
const others: Record<Language, string> = {
  bash: "sh zsh ksh bats fish", c: "h", cmake: "cmakelists.txt", cpp: "c++ cc cxx hpp hh hxx h++ ino", csharp: "cs c# csx", css: "", dart: "",
  diff: "patch", dockerfile: "docker containerfile", elixir: "ex exs", go: "golang", graphql: "gql", haskell: "hs", ini: "toml cfg conf properties editorconfig gitconfig",
  java: "", javascript: "js jsx mjs cjs node", json: "jsonc json5 jsonl ndjson webmanifest", kotlin: "kt kts", lua: "",
  makefile: "make mk mak", markdown: "md mkd mdx", nginx: "", objectivec: "objc objective-c mm", perl: "pl pm", php: "phtml", powershell: "ps1 psm1 pwsh",
  protobuf: "proto", python: "py pyi pyw py3 python3 bzl", r: "", ruby: "rb rake gemspec gemfile rakefile", rust: "rs", scala: "sbt sc", scss: "sass less",
  shell: "console shellsession sh-session terminal", sql: "psql postgres postgresql mysql sqlite ddl", swift: "", typescript: "ts tsx mts cts deno",
  xml: "html htm xhtml svg vue svelte xsl xsd rss plist", yaml: "yml",
};

const names = new Map<string, Language>();
for (const language of Object.keys(grammars) as Language[]) {
  for (const name of [language, ...others[language].split(" ").filter((name) => name !== "")]) names.set(name, language);
}

/** languageOf returns the language of a word after a code fence, such as `c++`, `{.python}` or `js,ignore`, or of a path. */
export function languageOf(of: string): Language | undefined {
  const name = of.slice(-500).toLowerCase().replace(/^.*[\\/]/, "");
  const word = name.replace(/^[{.]+|[},:;].*$/g, "").replace(/^language-/, "");
  return names.get(word) ?? names.get(/\.([^.]*)$/.exec(word)?.[1] ?? "") ?? names.get(word.replace(/\..*$/, ""));
}

/** load returns the grammar of a language and those of the languages inside its texts. */
export function load(language: Language): Promise<[Language, LanguageFn][]> {
  return Promise.all([language, ...(inside[language] ?? [])].map(async (name) => [name, (await grammars[name]()).default] as [Language, LanguageFn]));
}
