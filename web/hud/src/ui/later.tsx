import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { reason } from "../store/toasts.ts";
import { Progress } from "./controls.tsx";

/** A component that is loaded when it is shown first. */
export function Later({ load, label }: { load: () => Promise<ComponentType>; label: string }) {
  const [Loaded, set] = useState<ComponentType | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    load().then((component) => set(() => component), (error: unknown) => setProblem(reason(error)));
  }, [load]);
  if (problem !== "") return <p class="note bad" role="alert">Cannot load this page: {problem}</p>;
  return Loaded ? <Loaded /> : <Progress value={undefined} label={label} />;
}
