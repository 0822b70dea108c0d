import type { DocumentInfo, FileInfo } from "@strata/client";
import { canFind, find } from "../located/asking.ts";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { Confirm, IconButton, Tokens } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { reasonText } from "../text/reasons.ts";
import { removeFile } from "./actions.ts";
import { isOutline, stateOf } from "./rows.ts";

export function FileRow({ view, file, unused, filter }: { view: SessionView; file: FileInfo; unused: number; filter: string }) {
  return (
    <div class="entry two with-action" role="listitem" data-file={file.path} data-tokens={file.tokens} data-state={file.state}>
      <code class="entry-key cut" title={file.path}><Cut text={file.path} filter={filter} /></code>
      <span class="entry-number"><Tokens n={file.tokens} /></span>
      <span class="entry-more">
        <span class={file.state === "not_available" ? "bad" : isOutline(file) ? "mark" : ""}>{stateOf(file)}</span>
        {file.reason && <span class="quiet">{reasonText(file.reason)}</span>}
        {file.once && <span class="mark">for one reply</span>}
        {file.unsaved && <span class="mark">unsaved editor text</span>}
        {unused > 0 && <span class="mark"><Tokens n={unused} /> unused until the next rebuild</span>}
      </span>
      <span class="entry-action">
        {canFind() && <IconButton icon="find" label={`Is ${file.path} in the next request?`} onClick={() => find(view, { path: file.path })} />}
        <IconButton icon="close" label={`Remove ${file.path}`} disabled={!isOpen.value} onClick={() => void removeFile(view, file)} />
      </span>
    </div>
  );
}

export function DocumentRow({ view, document, unused, filter }: { view: SessionView; document: DocumentInfo; unused: number; filter: string }) {
  const remove = (): void => {
    view.call("_strata/documents/remove", { name: document.name }).then(
      () => {
        view.documents.changed();
        toast(`Document ${document.name} removed.`);
      },
      failed(`Cannot remove ${document.name}`),
    );
  };
  return (
    <div class="entry two with-action with-words" role="listitem" data-document={document.name} data-tokens={document.tokens}>
      <code class="entry-key cut" title={document.name}><Cut text={document.name} filter={filter} /></code>
      <span class="entry-number"><Tokens n={document.tokens} /></span>
      <span class="entry-more">
        <span class="quiet">{document.pinned ? "pinned" : `priority ${document.priority}`}</span>
        {document.status && <span class="quiet">{document.status}</span>}
        {document.phases && document.phases.length > 0 && <span class="quiet">{document.phases.length === 1 ? "phase" : "phases"} {document.phases.join(", ")}</span>}
        {unused > 0 && <span class="mark"><Tokens n={unused} /> unused until the next rebuild</span>}
      </span>
      <span class="entry-action"><Confirm label="Remove" about={document.name} question="Remove this document?" yes="Remove" disabled={!isOpen.value} onYes={remove} /></span>
    </div>
  );
}
