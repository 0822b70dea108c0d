import type { FileInfo, Outline } from "@strata/client";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { addFile, removeFile } from "../files/actions.ts";
import { isOutline } from "../files/rows.ts";
import { isOpen } from "../store/connection.ts";
import { Fetched } from "../store/fetched.ts";
import type { SessionView } from "../store/session.ts";
import type { Chosen } from "../store/workspace-search.ts";
import { count } from "../text/format.ts";
import { Progress, TokenCount } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { keyOfLine, outlineRows, type OutlineRow } from "./rows.ts";
import { linesOf, stateWords, whyWords } from "./words.ts";

/** A file of the folder: how much of it the model receives, its outline, and buttons that change that. */
export function FileOutline({ view, chosen }: { view: SessionView; chosen: Chosen }) {
  const { path, line } = chosen;
  const fetched = useMemo(() => new Fetched(() => view.call("_strata/outline/get", { path }), () => isOpen.peek()), [view, path]);
  const outline = useFetched(fetched);
  const files = useFetched(view.files)?.files;
  const known = view.knownFiles;
  useFetched(known);
  useEffect(() => fetched.changed(), [view.files.at.value, known.at.value]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const back = (): void => {
    view.workspace.chosen.value = null;
    document.getElementById("filter")?.focus();
  };
  const all = [fetched, view.files];
  return (
    <div class="column" onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); back(); } }}>
      <header class="panel-head">
        <div class="one-line file-title">
          <h2 ref={heading} tabIndex={-1}><code class="cut" title={path}><Cut text={path} /></code></h2>
          <button type="button" class="button small" onClick={back}>{view.workspace.query.value.trim() === "" ? "Show files" : "Show results"}</button>
        </div>
        {outline && files && <Standing view={view} outline={outline} file={files.find((f) => f.path === outline.path)} />}
      </header>
      <Shown of={all} class="column">
        {outline ? <Lines outline={outline} line={line} /> : !all.some((f) => f.failure.value) && <Progress value={undefined} label="Loading the outline" />}
      </Shown>
    </div>
  );
}

/** How much of the file the model receives, and the buttons that apply. file is undefined for a file that nobody added. */
function Standing({ view, outline, file }: { view: SessionView; outline: Outline; file: FileInfo | undefined }) {
  const { path, state, language, partial, tokens } = outline;
  const why = whyWords(outline, file !== undefined);
  const disabled = !isOpen.value;
  return (
    <>
      <p class="headline-words" role="status" data-path={path} data-state={state} data-added={file !== undefined}>
        <strong>{stateWords(outline, file)}</strong>
        {why !== "" && <span class="quiet">{why}</span>}
        {partial && <span class="mark" title="The file has syntax errors, or more definitions than an outline can contain">outline incomplete</span>}
      </p>
      <p class="quiet">
        {language !== "" && <><span data-outline-tokens={tokens}>Outline: <TokenCount n={tokens} /></span></>}
        {file && state !== "not_available" && state !== "summary_only" && <span>{language !== "" && ", "}in the request: <TokenCount n={file.tokens} /></span>}
      </p>
      <div class="one-line">
        {state !== "full" && <button type="button" class="button small primary" disabled={disabled} onClick={() => void addFile(view, path)}>Add in full</button>}
        {language !== "" && !(file && isOutline(file)) && <button type="button" class="button small" disabled={disabled} onClick={() => void addFile(view, path, { state: "summary" })}>{file ? "Replace with outline" : "Add outline"}</button>}
        {file && <button type="button" class="button small" aria-label={`Remove ${path}`} disabled={disabled} onClick={() => void removeFile(view, file)}>Remove</button>}
      </div>
    </>
  );
}

/** The imports and definitions of a file. The definition at a line is shown first. */
function Lines({ outline, line }: { outline: Outline; line: number }) {
  const rows = useMemo(() => outlineRows(outline), [outline]);
  const key = keyOfLine(outline, line);
  const target = useMemo(() => (key === "" ? null : { key }), [key]);
  return <VirtualList class="outline" focusable role="list" label={`Outline of ${outline.path}`} rows={rows} estimate={estimate} target={target} draw={(row) => <Line row={row} here={row.key === key} />} />;
}

const estimate = (row: OutlineRow): number => (row.kind === "head" ? 36 : 24);

function Line({ row, here }: { row: OutlineRow; here: boolean }) {
  switch (row.kind) {
    case "head":
      return <div class="tier-head" role="listitem"><h3 class="tier-name">{row.title}</h3><span class="quiet">{count(row.many)}</span></div>;
    case "import":
      return <div class="outline-line" role="listitem" data-import={row.path}><span class="outline-at">{row.line}</span><code>{row.path}</code></div>;
    case "symbol": {
      const { name, kind, signature, line, depth } = row.symbol;
      return (
        <div class={here ? "outline-line here" : "outline-line"} role="listitem" aria-current={here ? "true" : undefined} data-symbol={name} data-line={line}>
          <span class="outline-at">{linesOf(row.symbol)}</span>
          <code style={{ paddingLeft: `${Math.min(depth, MAX_INDENT) * 14}px` }}>{signature || `${kind} ${name}`}</code>
        </div>
      );
    }
    case "none":
      return <p class="quiet none">{row.text}</p>;
  }
}

/** Maximum number of levels by which a definition is indented. */
const MAX_INDENT = 8;
