import { useEffect, useState } from "preact/hooks";

/** From this viewport width on, the inspector is beside the conversation; below the other, the list of sessions is a drawer. */
export const WIDE = "(min-width: 1200px)";
export const NARROW = "(max-width: 799.98px)";

/** The event of the window after the colors have changed, in an editor whose theme is none of the browser's schemes. */
export const THEME_CHANGED = "themechange";

/** useMedia reports whether a media query matches. */
export function useMedia(query: string): boolean {
  const [matches, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = (): void => set(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}
