import type { TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import { go, sessionAddress } from "../routes.ts";
import { call, isOpen, offers } from "../store/connection.ts";
import { questionsOf } from "../store/questions.ts";
import type { SessionView } from "../store/session.ts";
import { discard, rename } from "../store/sessions.ts";
import { failed, toast } from "../store/toasts.ts";
import { exportSession } from "../store/transfer.ts";
import { IconButton } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Icon } from "../ui/icons.tsx";
import { PRINT } from "../print/open.ts";

/** The title of the open session, editable in place, and the actions on the session. */
export function TitleBar({ view }: { view: SessionView }) {
  const [naming, setNaming] = useState(false);
  const title = view.title.value || "Untitled session";
  const remove = (): void => {
    discard(view.id, title).then(() => go("#/"), failed("Cannot delete the session"));
  };
  const fork = (): void => {
    call("_strata/session/fork", { sessionId: view.id }).then(
      (made) => {
        toast("Session forked. The original is unchanged.");
        go(sessionAddress(made.sessionId));
      },
      failed("Cannot fork the session"),
    );
  };
  return (
    <header class="title-bar">
      <div class="title">
        {naming ? <TitleField view={view} title={view.title.value} onDone={() => setNaming(false)} /> : <h1 dir="auto" onDblClick={() => setNaming(true)}>{title}</h1>}
        <p class="title-path">
          {view.compacting.value !== "" && <span class="title-state">compacting</span>}
          {view.running.value && <span class="title-state">{questionsOf(view.id).length > 0 ? "needs permission" : "replying"}</span>}
          <bdi class="cut" title={view.cwd.value}><Cut text={view.cwd.value} /></bdi>
        </p>
      </div>
      <p class="print-hint">The print view (Ctrl+P) has all messages.</p>
      <div class="title-actions">
        <IconButton icon="edit" label="Rename session" disabled={!isOpen.value} onClick={() => setNaming(true)} />
        {offers("_strata/session/fork") && <IconButton icon="fork" label="Fork session" disabled={!isOpen.value} onClick={fork} />}
        <a class="icon-button" href={sessionAddress(view.id, PRINT)} aria-label="Print view" title="Print view (Ctrl+P)"><Icon name="print" /></a>
        <IconButton icon="download" label="Export session" disabled={!isOpen.value} onClick={() => void exportSession(view.id, title)} />
        <IconButton icon="trash" label="Delete session" disabled={!isOpen.value} onClick={remove} />
      </div>
    </header>
  );
}

function TitleField({ view, title, onDone }: { view: SessionView; title: string; onDone: () => void }) {
  const [text, setText] = useState(title);
  const save = (): void => {
    onDone();
    if (text.trim() !== "" && text !== title) rename(view.id, text.trim()).catch(failed("Cannot rename the session"));
  };
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Enter") save();
    else if (event.key === "Escape") {
      event.stopPropagation();
      onDone();
    }
  };
  return (
    <input class="title-field" type="text" dir="auto" aria-label="Session title" autofocus value={text} ref={(e) => { if (e && document.activeElement !== e) { e.focus(); e.select(); } }}
      onInput={(e) => setText(e.currentTarget.value)} onKeyDown={keys} onBlur={save} />
  );
}
