import type { Block, ListedMessage } from "@strata/client";
import { callState, oneLine, placeBeside } from "../conversation/calls.ts";
import { Picture } from "../conversation/content.tsx";
import { author, endings } from "../conversation/message.tsx";
import { visibilities } from "../conversation/rows.ts";
import { Markdown } from "../conversation/segments.tsx";
import { resultKey, type Results } from "../store/tool-calls.ts";
import type { Entry } from "../store/transcript.ts";
import { base, fully, plural } from "../text/format.ts";
import { segments } from "../text/segments.ts";

interface PrintedMessageProps {
  entry: Entry;
  /** A further step of a reply, which does not name the author again. */
  continued: boolean;
  results: Results;
  folder: string;
}

/** A message as it is printed: its texts in full, and each tool call on one line. */
export function PrintedMessage({ entry, continued, results, folder }: PrintedMessageProps) {
  const { message } = entry;
  const joined = results.joined.get(entry);
  const blocks = message.blocks.filter((_, i) => !joined?.has(i));
  if (blocks.length === 0 && message.blocks.length > 0) return null;
  return (
    <article class={`printed ${message.role}`}>
      {!continued && (
        <header class="hit-head">
          <span class="who">{author(entry)}</span>
          {!message.inView && <span class="mark">{visibilities[message.view?.state ?? ""] ?? "Not in view"}</span>}
          <time dateTime={message.at}>{fully(message.at)}</time>
        </header>
      )}
      {blocks.map((block, i) => <PrintedBlock key={i} block={block} entry={entry} results={results} folder={folder} />)}
      {ending(message) !== "" && <p class="ending">{ending(message)}</p>}
    </article>
  );
}

const ending = ({ status }: ListedMessage): string => (!status || status === "complete" ? "" : (endings[status] ?? status));

function PrintedBlock({ block, entry, results, folder }: { block: Block; entry: Entry; results: Results; folder: string }) {
  switch (block.type) {
    case "text":
      return <PrintedText text={block.text ?? ""} />;
    case "thinking":
      return block.text ? <p class="printed-line">Thinking, {plural(block.text.length, "character")}</p> : null;
    case "image":
      return <Picture block={block} />;
    case "resource":
      return <p class="printed-line">Attached text: {block.uri}</p>;
    case "resource_link":
      return <p class="printed-line">Attached file: {block.name || base(block.uri)}</p>;
    case "tool_call": {
      const stored = results.of.get(resultKey(entry, block.callId));
      const state = callState({ name: block.name, args: block.args ?? "", incomplete: block.incomplete ?? false, running: false }, stored, undefined);
      const at = placeBeside(state, folder);
      const outcome = state.ended ? oneLine(state.ended.outcome).toLowerCase() : state.status || "no result";
      return <p class="printed-line printed-call"><bdi>{state.title}</bdi>{at !== "" && <> · <bdi>{at}</bdi></>}: {outcome}</p>;
    }
    case "tool_result":
      return <p class="printed-line">Result of a tool: {block.isError ? "failed" : "done"}</p>;
    default:
      return null;
  }
}

function PrintedText({ text }: { text: string }) {
  return <>{segments(text).map((s, i) => (s.kind === "markdown" ? <Markdown key={i} text={s.text} /> : <div key={i} class="prose"><pre><code>{s.text}</code></pre></div>))}</>;
}
