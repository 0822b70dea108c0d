import { Fragment } from "preact";
import { sessionAddress } from "../routes.ts";
import { offers } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { Icon } from "../ui/icons.tsx";

/** The order of the options; others follow. */
const order = ["model", "thought_level", "approval", "profile", "mode", "compaction"];

/** The session's options as selects: model, thought level, approval, profile, phase and compaction strategy, if available. */
export function Options({ view }: { view: SessionView }) {
  if (view.optionsProblem.value !== "") return <span class="mark bad" title={view.optionsProblem.value}>Options unavailable: {view.optionsProblem.value}</span>;
  const orderOf = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length);
  const options = [...view.options.value].sort((a, b) => orderOf(a.id) - orderOf(b.id));
  return (
    <div class="choices">
      {options.map((o) => (<Fragment key={o.id}>
        <label class="choice" title={`${o.name}: ${o.description ?? ""}`}>
          <span class="hidden">{o.name}</span>
          <select value={o.currentValue} data-option={o.id}
            onChange={(e) => view.choose(o.id, e.currentTarget.value).catch(failed(`Cannot set ${o.name}`))}>
            {o.options.map((v) => (
              <option key={v.value} value={v.value} selected={v.value === o.currentValue}>{o.id === "thought_level" ? `Thinking: ${v.name}` : v.name}</option>
            ))}
          </select>
          <Icon name="down" />
        </label>
        {o.id === "approval" && offers("_strata/permissions/list") && (
          <a class="icon-button" href={sessionAddress(view.id, "rules")} aria-label="Rules of approval" title="Rules of approval"><Icon name="list" /></a>
        )}
      </Fragment>))}
    </div>
  );
}
