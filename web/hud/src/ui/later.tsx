import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { failed } from "../store/toasts.ts";

/** later returns a component whose code is loaded when it is first drawn. Until then it draws nothing. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  return function Later(props: P) {
    const Loaded = loaded.value;
    useEffect(() => {
      if (Loaded) return;
      load().then((component) => {
        loaded.value = component;
      }, failed("Cannot load this part of the page"));
    }, []);
    return Loaded ? <Loaded {...props} /> : null;
  };
}
