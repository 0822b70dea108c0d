import type { Model, Price } from "@strata/client";
import { short } from "../text/format.ts";

/** A field for the model of a new session, with the window and the price of each. */
export function ModelField({ models, chosen, onChoose }: { models: readonly Model[]; chosen: string; onChoose: (name: string) => void }) {
  return (
    <>
      <label class="label" for="new-model">Model</label>
      <select id="new-model" class="field" value={chosen} onChange={(e) => onChoose(e.currentTarget.value)}>
        {!models.some((m) => m.name === chosen) && <option value={chosen} selected>{chosen}</option>}
        {models.map((m) => <option key={m.name} value={m.name} selected={m.name === chosen}>{m.title} · {windowOf(m)} · {priceOf(m.price)}</option>)}
      </select>
    </>
  );
}

const windowOf = (m: Model): string => `${short(m.window)} window${m.known ? "" : " (assumed)"}`;

/** priceOf describes the price of a million tokens. */
export function priceOf(price: Price | undefined): string {
  if (!price) return "unknown price";
  if (price.input === 0 && price.output === 0) return "free";
  return `$${price.input} in, $${price.output} out per million`;
}
