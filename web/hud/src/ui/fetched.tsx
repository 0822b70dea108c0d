import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Fetched } from "../store/fetched.ts";
import { fully } from "../text/format.ts";

/** useFetched returns a value of the server and keeps it up to date while the component is mounted. */
export function useFetched<T>(fetched: Fetched<T>): T | undefined {
  useEffect(() => fetched.watch(), [fetched]);
  return fetched.value.value;
}

type One = Fetched<unknown>;

/** firstOutdated returns the first value whose newest fetch failed, otherwise the first stale one. */
function firstOutdated(of: One | readonly One[]): One | undefined {
  const all = "length" in of ? of : [of];
  return all.find((f) => f.failure.value !== "") ?? all.find((f) => f.stale.value);
}

/** A notice that a value is missing or may be out of date, and why; nothing for a current value. */
export function Freshness({ of }: { of: One }) {
  if (of.failure.value !== "") return <p class="mark bad" role="status">{of.value.value === undefined ? "Not available" : "Not up to date"}: {of.failure.value}</p>;
  if (!of.stale.value) return null;
  return <p class="mark" role="status">Not up to date: as of {fully(of.at.value?.toISOString() ?? "")}</p>;
}

/** A container for fetched values, dimmed and marked while one of them is stale. */
export function Shown({ of, class: name = "", children }: { of: One | readonly One[]; class?: string; children: ComponentChildren }) {
  const stale = firstOutdated(of);
  const busy = "length" in of ? of.some((f) => f.busy.value) : of.busy.value;
  return (
    <div class={`shown ${stale ? "stale " : ""}${name}`.trim()} aria-busy={busy}>
      {stale && <Freshness of={stale} />}
      {children}
    </div>
  );
}
