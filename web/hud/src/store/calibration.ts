import { effect } from "@preact/signals";
import { sessions } from "./sessions.ts";

/** Minimum time between two calls, in milliseconds. */
const PACE_MS = 3000;

/**
 * followCalibration calls a function soon after any session has done something: each reply can change how many tokens the
 * server expects the provider to count, and with that the figures of all sessions. It returns the end of that.
 */
export function followCalibration(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = sessions.peek();
  const stop = effect(() => {
    if (sessions.value === start) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      run();
    }, PACE_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
