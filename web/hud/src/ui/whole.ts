import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** Whole is true around content that must not be shortened: a text was found in it. */
export const Whole = createContext(false);

/** useWhole is the state of something that is shortened at first. It becomes true where Whole is, and then stays so. */
export function useWhole(initial = false): [boolean, (all: boolean) => void] {
  const whole = useContext(Whole);
  const [all, setAll] = useState(initial || whole);
  useEffect(() => {
    if (whole) setAll(true);
  }, [whole]);
  return [all, setAll];
}
