import type { Arrangement, Located, Sought } from "@strata/client";
import { useEffect, useMemo } from "preact/hooks";
import { addFile } from "../files/actions.ts";
import { isOpen } from "../store/connection.ts";
import { Fetched } from "../store/fetched.ts";
import type { SessionView } from "../store/session.ts";
import { failed, undoable } from "../store/toasts.ts";
import { fully, plural, when } from "../text/format.ts";
import { Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { ruleText, stateText, textAnswer } from "./words.ts";

/** The answer whether something is in the next request, with what can be done about it. */
export function Answer({ view }: { view: SessionView }) {
  const sought = view.sought.value;
  const fetched = useMemo(() => new Fetched(() => view.call("_strata/context/find", sought as Sought), () => isOpen.peek()), [view, sought]);
  const found = useFetched(fetched);
  const changed = view.budget.at.value;
  useEffect(() => fetched.changed(), [changed]);
  if (!sought) return null;
  return (
    <Shown of={fetched} class="found">
      {found ? <Found view={view} sought={sought} found={found} again={() => fetched.changed()} />
        : fetched.failure.value === "" && <Progress value={undefined} label="Looking in the next request" />}
    </Shown>
  );
}

interface FoundProps {
  view: SessionView;
  sought: Sought;
  found: Located;
  again: () => void;
}

function Found({ view, sought, found, again }: FoundProps) {
  const { since } = found;
  return (
    <>
      <p class="found-what"><ItemName view={view} of={found.key} /></p>
      {sought.text && <blockquote class="found-text" dir="auto">{sought.text.slice(0, 400)}</blockquote>}
      <p class="found-state" data-found={found.state} data-rule={found.rule ?? ""} role="status">
        <strong>{stateText(found)}</strong>{found.kept && <span class="mark">Kept</span>}{found.next && <span class="mark">from the next request on</span>}
      </p>
      {found.text && <p data-text={found.text.here ? "here" : found.text.elsewhere ? "elsewhere" : "gone"}>{textAnswer(found.text)}</p>}
      {found.rule && <p>{ruleText(found.rule)}.</p>}
      {since && (
        <p class="quiet">
          {since.at && <>Since <time dateTime={since.at} title={fully(since.at)}>{when(since.at)}</time>. </>}
          {since.callId ? <>First request with it: <a href={`#/session/${encodeURIComponent(view.id)}/requests/${since.callId}`} data-call={since.callId}>{when(since.callAt ?? "") || "the call"}</a>.</>
            : "No request was sent since then."}
        </p>
      )}
      {found.tokens > 0 && <p class="quiet">{plural(found.tokens, "token")}{found.tier && `, tier ${found.tier}`}, {found.cached ? "expected in the cache" : "not in the cache"}.</p>}
      <div class="found-actions">
        {found.actions.map((action) => <ActionButton key={action} view={view} sought={sought} found={found} action={action} again={again} />)}
      </div>
    </>
  );
}

const labels: Record<string, string> = { keep: "Keep in requests", release: "Stop keeping", take_out: "Take out", add: "Add file", remove: "Remove file" };

const outcomes: Record<Arrangement, string> = { keep: "Kept in requests.", release: "No longer kept.", take_out: "Taken out." };

function ActionButton({ view, found, action, again }: FoundProps & { action: string }) {
  const isBack = action === "keep" && found.state !== "whole";
  const run = (): void => {
    const path = found.key.replace(/^(?:file|outline):/, "");
    if (action === "add") void addFile(view, path).then(again);
    else if (action === "remove") view.call("_strata/files/remove", { path }).then(again, failed(`Cannot remove ${path}`));
    else void arrange(view, found.key.replace(/^msg:/, ""), action as Arrangement).then(again);
  };
  return <button type="button" class="button" data-action={action} disabled={!isOpen.value || view.busy.value} onClick={run}>{isBack ? "Bring back and keep" : labels[action] ?? action}</button>;
}

async function arrange(view: SessionView, messageId: string, action: Arrangement): Promise<void> {
  try {
    const { seq } = await view.call("_strata/history/arrange", { messageId, action });
    undoable(outcomes[action], () => view.call("_strata/checkpoint/undo", { seq }));
  } catch (error) {
    failed("Cannot change the view")(error);
  }
}
