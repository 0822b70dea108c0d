import { render } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { painted, useRuns } from "./code.tsx";

/** Colors an element that is not a component's: code inside rendered Markdown. It shows nothing itself. */
export function NestedCode({ element }: { element: HTMLElement }) {
  const text = useMemo(() => element.textContent ?? "", [element]);
  const runs = useRuns(element.dataset["lang"] ?? "", text);
  useLayoutEffect(() => {
    if (!runs || runs.length === 0) return;
    element.replaceChildren();
    render(<>{painted(text, runs)}</>, element);
  }, [element, runs]);
  return null;
}
