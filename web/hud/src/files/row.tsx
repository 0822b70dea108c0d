import type { DocumentInfo, FileInfo } from "@strata/client";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { Confirm, IconButton, Tokens } from "../ui/controls.tsx";
import { Hit } from "../ui/filter.tsx";
import { stateOf } from "./rows.ts";

/** Takes a file out, and offers to take it in again as it was. */
async function takeOut(view: SessionView, file: FileInfo): Promise<void> {
  await view.call("_strata/files/remove", { path: file.path });
  const { path, range, once, lineNumbers } = file;
  const again = {
    path, ...(file.state === "summary_only" ? { state: "summary" as const } : {}),
    ...(range ? { range } : {}), ...(once ? { once } : {}), ...(lineNumbers ? { lineNumbers } : {}),
  };
  const run = (): void => void view.call("_strata/files/add", again).catch(failed(`${path} could not be taken in again`));
  toast(`${path} was taken out.`, { action: { label: "Undo", run } });
}

export function FileRow({ view, file, leaves, filter }: { view: SessionView; file: FileInfo; leaves: number; filter: string }) {
  return (
    <div class="entry two with-action" role="listitem" data-file={file.path} data-tokens={file.tokens} data-state={file.state}>
      <code class="entry-key" title={file.path}><Hit text={file.path} filter={filter} /></code>
      <span class="entry-number"><Tokens n={file.tokens} /></span>
      <span class="entry-more">
        <span class={file.state === "not_available" ? "bad" : ""}>{stateOf(file)}</span>
        {file.reason && <span class="quiet">{file.reason}</span>}
        {file.once && <span class="mark">for one reply</span>}
        {file.unsaved && <span class="mark">unsaved text of the editor</span>}
        {leaves > 0 && <span class="mark"><Tokens n={leaves} /> leave at the next cut</span>}
      </span>
      <span class="entry-action"><IconButton icon="close" label={`Take out ${file.path}`} disabled={!isOpen.value} onClick={() => void takeOut(view, file).catch(failed(`${file.path} could not be taken out`))} /></span>
    </div>
  );
}

export function DocumentRow({ view, document, leaves, filter }: { view: SessionView; document: DocumentInfo; leaves: number; filter: string }) {
  const remove = (): void => {
    view.call("_strata/documents/remove", { name: document.name }).then(
      () => {
        view.documents.changed();
        toast(`The document ${document.name} was removed.`);
      },
      failed(`${document.name} could not be removed`),
    );
  };
  return (
    <div class="entry two with-action with-words" role="listitem" data-document={document.name} data-tokens={document.tokens}>
      <code class="entry-key" title={document.name}><Hit text={document.name} filter={filter} /></code>
      <span class="entry-number"><Tokens n={document.tokens} /></span>
      <span class="entry-more">
        <span class="quiet">{document.pinned ? "never left out" : `priority ${document.priority}`}</span>
        {document.status && <span class="quiet">{document.status}</span>}
        {document.phases && document.phases.length > 0 && <span class="quiet">in {document.phases.join(", ")}</span>}
        {leaves > 0 && <span class="mark"><Tokens n={leaves} /> leave at the next cut</span>}
      </span>
      <span class="entry-action"><Confirm label="Remove" about={document.name} question="Remove it?" yes="Remove" disabled={!isOpen.value} onYes={remove} /></span>
    </div>
  );
}
