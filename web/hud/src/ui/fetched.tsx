import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Fetched } from "../store/fetched.ts";
import { fully } from "../text/format.ts";

/** Keeps a value of the server's up to date while the component is shown, and returns it. */
export function useFetched<T>(fetched: Fetched<T>): T | undefined {
  useEffect(() => fetched.watch(), [fetched]);
  return fetched.value.value;
}

/** Says that a value is not known to be the present one, and why; nothing where it is. */
export function Freshness({ of }: { of: Fetched<unknown> }) {
  if (of.failure.value !== "") return <p class="mark bad" role="status">Not up to date: {of.failure.value}</p>;
  if (!of.stale.value) return null;
  return <p class="mark" role="status">Not up to date: as of {fully(of.at.value?.toISOString() ?? "")}</p>;
}

/** What is drawn of a fetched value, dimmed and marked while it is stale. */
export function Shown({ of, children }: { of: Fetched<unknown>; children: ComponentChildren }) {
  const stale = of.stale.value || of.failure.value !== "";
  return (
    <div class={stale ? "shown stale" : "shown"} aria-busy={of.busy.value}>
      <Freshness of={of} />
      {children}
    </div>
  );
}
