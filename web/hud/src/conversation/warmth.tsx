import type { CacheOutlook } from "@strata/client";
import { useEffect } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { dollars, elapsed, plural } from "../text/format.ts";
import { useFetched } from "../ui/fetched.tsx";
import { useNow } from "../ui/now.ts";

/** How long the provider's cache stays warm, and what the input of the next request costs before and after; nothing while a turn runs. */
export function Warmth({ view }: { view: SessionView }) {
  const outlook = useFetched(view.cache);
  const at = view.cache.at.value?.getTime() ?? 0;
  if (!outlook || view.running.value || view.cache.stale.value || view.cache.failure.value !== "") return null;
  const priced = view.draft.figures.value?.cost !== undefined; // the draft’s line has the price now
  if (outlook.warmMs) return <Warm key={at} outlook={outlook} until={at + outlook.warmMs} priced={priced} onCold={() => view.cache.changed()} />;
  return <span class="warmth" title={`Input of the next request, without the prompt: ${priceOf(outlook.now)}`}>{states[outlook.caching] ?? states.marked}{!priced && `, ${priceOf(outlook.now)}`}</span>;
}

const states: Record<string, string> & { marked: string } = { marked: "Cache cold", automatic: "Cache cold", unseen: "No cache reads seen", none: "No cache" };

const priceOf = (of: { cost?: number } | undefined): string => (of?.cost === undefined ? "price unknown" : dollars(of.cost));

/** The time until the cache is cold, by this browser's clock from the response on. */
function Warm({ outlook, until, priced, onCold }: { outlook: CacheOutlook; until: number; priced: boolean; onCold: () => void }) {
  const left = until - useNow();
  const ended = left <= 0;
  useEffect(() => {
    if (ended) onCold();
  }, [ended]);
  const { now, cold, caching, expectedCacheRead } = outlook;
  const price = now.cost === undefined ? "price unknown" : `${priceOf(now)}, then ${priceOf(cold)}`;
  const about = `The next request reads ${plural(expectedCacheRead, "token")} from the cache. Input without the prompt: ${price}`;
  return <span class="warmth" title={about} data-warm={now.cost} data-cold={cold?.cost}>Cache warm for {caching === "marked" ? "" : "up to "}{elapsed(Math.max(left, 0))}, {priced ? `then ${priceOf(cold)}` : price}</span>;
}
