import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { Icon } from "../ui/icons.tsx";

/** The order in which choices stand; others follow. */
const order = ["model", "thought_level", "profile", "mode", "compaction"];

/** The session's choices as selects: model, thought level, profile, phase, strategy, as far as there are any. */
export function Choices({ view }: { view: SessionView }) {
  if (view.optionsProblem.value !== "") return <span class="mark bad" title={view.optionsProblem.value}>No choices: {view.optionsProblem.value}</span>;
  const place = (id: string): number => (order.includes(id) ? order.indexOf(id) : order.length);
  const options = [...view.options.value].sort((a, b) => place(a.id) - place(b.id));
  return (
    <div class="choices">
      {options.map((o) => (
        <label key={o.id} class="choice" title={`${o.name}: ${o.description ?? ""}`}>
          <span class="hidden">{o.name}</span>
          <select value={o.currentValue} data-option={o.id}
            onChange={(e) => view.choose(o.id, e.currentTarget.value).catch(failed(`${o.name} could not be chosen`))}>
            {o.options.map((v) => (
              <option key={v.value} value={v.value} selected={v.value === o.currentValue}>{o.id === "thought_level" ? `Thinking: ${v.name}` : v.name}</option>
            ))}
          </select>
          <Icon name="down" />
        </label>
      ))}
    </div>
  );
}
