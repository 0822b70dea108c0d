import type { Call, RequestCall } from "@strata/client";
import { go, requestAddress } from "../routes.ts";
import type { SessionView } from "../store/session.ts";
import { tokens, when } from "../text/format.ts";
import { useFetched } from "../ui/fetched.tsx";

/** Purposes of calls whose requests are kept. */
const purposes = ["turn", "frontend"];

interface ChoiceProps {
  view: SessionView;
  call: RequestCall;
  /** The id of the call that is compared with, "" for none. */
  other: string;
}

/** Chooses the request that is shown, and the one to compare with. */
export function Choice({ view, call, other }: ChoiceProps) {
  const usage = useFetched(view.usage);
  const calls = (usage?.calls ?? []).filter((c) => purposes.includes(c.purpose));
  const at = calls.findIndex((c) => c.callId === call.callId);
  const first = (usage?.totals.calls ?? 0) - (usage?.calls.length ?? 0) + 1;
  const named = (c: Call): string => `Call ${first + (usage?.calls.indexOf(c) ?? 0)}, ${when(c.at)}, ${tokens(c.input + c.cacheRead + c.cacheWrite)}`;
  const others = calls.filter((c) => c.callId !== call.callId).reverse();
  return (
    <div class="one-line">
      <Step view={view} to={at > 0 ? calls[at - 1] : undefined} label="Earlier request" />
      <Step view={view} to={at >= 0 ? calls[at + 1] : undefined} label="Later request" />
      <label class="compare-with">Compare with{" "}
        <select class="field" value={other} onChange={(e) => go(requestAddress(view.id, call.callId, e.currentTarget.value))}>
          {!others.some((c) => c.callId === other) && <option value={other}>{other === "" ? "no request" : "an older call"}</option>}
          {others.map((c) => <option key={c.callId} value={c.callId}>{named(c)}</option>)}
        </select>
      </label>
    </div>
  );
}

/** A link to the request before or after. */
function Step({ view, to, label }: { view: SessionView; to: Call | undefined; label: string }) {
  return to ? <a class="button small" href={requestAddress(view.id, to.callId)}>{label}</a> : <button type="button" class="button small" disabled>{label}</button>;
}
