import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { reason } from "../store/toasts.ts";
import { Progress } from "./controls.tsx";

/**
 * later returns a component whose code is loaded when it is first drawn. Until then it draws a progress bar with the label,
 * or nothing without one.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>, label = ""): ComponentType<P> {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  const problem = signal("");
  return function Later(props: P) {
    const Loaded = loaded.value;
    useEffect(() => {
      if (Loaded) return;
      problem.value = "";
      load().then((component) => {
        loaded.value = component;
      }, (error: unknown) => {
        problem.value = reason(error);
      });
    }, []);
    if (Loaded) return <Loaded {...props} />;
    if (problem.value !== "") return <p class="note bad" role="alert">Cannot load this part of the page: {problem.value}</p>;
    return label === "" ? null : <Progress value={undefined} label={label} />;
  };
}
