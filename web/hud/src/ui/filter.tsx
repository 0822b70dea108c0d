import type { TargetedKeyboardEvent } from "preact";
import { parts, positions } from "../text/fuzzy.ts";
import { IconButton } from "./controls.tsx";
import { Icon } from "./icons.tsx";

/** The filter field of a panel. The key f focuses it. */
export function Filter({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }) {
  const keys = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    if (value === "") event.currentTarget.blur();
    else onInput("");
  };
  return (
    <div class="search filter">
      <Icon name="search" />
      <input id="filter" type="search" class="search-field" placeholder={label} aria-label={label} value={value}
        onInput={(e) => onInput(e.currentTarget.value)} onKeyDown={keys} />
      {value === "" ? <kbd aria-hidden="true">f</kbd> : <IconButton icon="close" label="Clear filter (Esc)" onClick={() => onInput("")} />}
    </div>
  );
}

/** A text with the letters that match a filter marked. */
export function Hit({ text, filter }: { text: string; filter: string }) {
  const hits = filter === "" ? [] : positions(filter, text) ?? [];
  if (hits.length === 0) return <>{text}</>;
  return <>{parts(text, hits).map((p, i) => (p.hit ? <mark key={i}>{p.text}</mark> : p.text))}</>;
}
