/** The event that asks a list to move the focus by a number of its stops. It is cancelled if the list does. */
const STEP = "liststep";

/** step moves the focus in the list of an element, also to rows that are not in the page. It reports whether it could. */
export const step = (list: Element | null, by: number): boolean =>
  list !== null && !list.dispatchEvent(new CustomEvent(STEP, { detail: by, cancelable: true }));

/** onStep calls a function for each step in a list. It returns the end of that. */
export function onStep(list: Element, run: (by: number) => boolean): () => void {
  const stepped = (event: Event): void => {
    if (run((event as CustomEvent<number>).detail)) event.preventDefault();
  };
  list.addEventListener(STEP, stepped);
  return () => list.removeEventListener(STEP, stepped);
}

/** nextStop returns the index of the stop that is some stops after or before an index, or of the last one on the way. */
export function nextStop<R>(rows: readonly R[], from: number, by: number, stops: (row: R) => boolean): number | undefined {
  const sign = Math.sign(by);
  let found: number | undefined;
  for (let at = from + sign, left = Math.abs(by); at >= 0 && at < rows.length && left > 0; at += sign) {
    if (!stops(rows[at] as R)) continue;
    found = at;
    left--;
  }
  return found;
}
