import type { ComponentChildren } from "preact";
import type { SessionView } from "../store/session.ts";
import { questionsOf } from "../store/questions.ts";
import { IconButton } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";
import { Icon } from "../ui/icons.tsx";
import { PRINT } from "../print/open.ts";
import { sessionAddress } from "../routes.ts";
import { actionsOn } from "./actions.ts";
import { isNaming, naming, TitleField } from "./naming.tsx";

/** The title of the open session, editable in place, and the actions on the session. */
export function TitleBar({ view, children }: { view: SessionView; children?: ComponentChildren }) {
  const title = view.title.value || "Untitled session";
  return (
    <header class="title-bar">
      <div class="title">
        {isNaming(view.id, "title")
          ? <TitleField id={view.id} title={view.title.value} />
          : <h1 dir="auto" onDblClick={() => (naming.value = { id: view.id, at: "title" })}>{title}</h1>}
        <p class="title-path">
          {view.compacting.value !== "" && <span class="title-state">compacting</span>}
          {view.running.value && <span class="title-state">{questionsOf(view.id).length > 0 ? "needs permission" : "replying"}</span>}
          <bdi class="cut" title={view.cwd.value}><Cut text={view.cwd.value} /></bdi>
        </p>
      </div>
      <p class="print-hint">Only messages on screen are printed. The print view (Ctrl+P) has all of them.</p>
      <div class="title-actions">
        {actionsOn(view.id, title, "title").map((a) => <IconButton key={a.label} icon={a.icon} label={a.label} disabled={a.disabled ?? false} onClick={a.run} />)}
        <a class="icon-button" href={sessionAddress(view.id, PRINT)} aria-label="Print view" title="Print view (Ctrl+P)"><Icon name="print" /></a>
        {children}
      </div>
    </header>
  );
}
