import { useEffect } from "preact/hooks";
import type { DeletedSession } from "@strata/client";
import { go, sessionAddress } from "../routes.ts";
import { deleted, loading, loadMore, more, problem, purge, reload, undelete } from "../store/bin.ts";
import { isOpen } from "../store/connection.ts";
import { binChanges, titleOf } from "../store/sessions.ts";
import { failed, toast } from "../store/toasts.ts";
import { dollars, fully, plural, when } from "../text/format.ts";
import { Confirm, Empty, Progress } from "../ui/controls.tsx";
import { Cut } from "../ui/cut.tsx";

/** The deleted sessions. Each can be undeleted, or deleted permanently. */
export function Bin() {
  const open = isOpen.value;
  const changes = binChanges.value;
  useEffect(() => {
    if (open) void reload();
  }, [open, changes]);
  const list = deleted.value;
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>Deleted sessions</h1>
      {problem.value !== "" && <p class="mark bad" role="status">Not up to date: {problem.value}</p>}
      {list === undefined && problem.value === "" && <Progress value={undefined} label="Loading the deleted sessions" />}
      {list?.length === 0 && <Empty title="No deleted sessions"><p>A deleted session stays here until its retention expires.</p></Empty>}
      {list && list.length > 0 && <ul class="bin">{list.map((session) => <Deleted key={session.sessionId} session={session} />)}</ul>}
      {more.value !== undefined && <button type="button" class="button wide" disabled={loading.value || !open} onClick={() => void loadMore()}>Show more deleted sessions</button>}
    </main>
  );
}

function Deleted({ session }: { session: DeletedSession }) {
  const title = titleOf(session);
  const id = session.sessionId;
  const bringBack = (): void => {
    undelete(id).then(() => {
      toast(`“${title}” undeleted.`, { action: { label: "Open", run: () => go(sessionAddress(id)) } });
      leave();
    }, notThere("Cannot undelete the session"));
  };
  const erase = (): void => {
    purge(id).then(() => {
      toast(`“${title}” deleted permanently.`);
      leave();
    }, notThere("Cannot delete the session permanently"));
  };
  return (
    <li class="card bin-entry" data-deleted={id}>
      <div class="bin-what">
        <h2 dir="auto">{title}</h2>
        <p class="quiet"><bdi class="cut" title={session.cwd}><Cut text={session.cwd} /></bdi></p>
        <p class="quiet">
          {plural(session.messages, "message")}, {dollars(session.cost)}. Deleted <time dateTime={session.deletedAt} title={fully(session.deletedAt)}>{when(session.deletedAt)}</time>,
          to be erased <time dateTime={session.purgeAt} title={fully(session.purgeAt)}>{when(session.purgeAt)}</time>
        </p>
      </div>
      <div class="bin-actions">
        <button type="button" class="button small" aria-label={`Undelete: ${title}`} disabled={!isOpen.value} onClick={bringBack}>Undelete</button>
        <Confirm label="Delete permanently" about={title} question="Delete permanently? This cannot be undone." yes="Delete permanently" disabled={!isOpen.value} onYes={erase} />
      </div>
    </li>
  );
}

/** notThere is failed for an entry that may be gone. */
const notThere = (what: string) => (error: unknown): void => {
  failed(what)(error);
  void reload();
};

/** leave keeps the focus on the page when the entry that had it is removed. */
function leave(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) (document.querySelector<HTMLElement>(".bin-entry button") ?? document.getElementById("main"))?.focus();
  });
}
