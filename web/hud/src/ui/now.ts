import { useEffect, useState } from "preact/hooks";

/** useNow returns the present time in milliseconds, and renders its component again every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
