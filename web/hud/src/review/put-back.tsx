import { useEffect, useMemo } from "preact/hooks";
import type { Restored } from "@strata/client";
import { isOpen, offers } from "../store/connection.ts";
import { Fetched } from "../store/fetched.ts";
import type { SessionView } from "../store/session.ts";
import { Progress } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Outcome } from "./outcome.tsx";

/** Target is a place to which the view can be restored. */
export type Target = { checkpointId: string } | { seq: number } | { beforeMessageId: string };

interface PutBackProps {
  view: SessionView;
  target: Target;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

/** The option of a restore that also puts files back, with its preview. It ends unchecked when it is removed. */
export function PutBack({ view, target, checked, onChange }: PutBackProps) {
  useEffect(() => () => onChange(false), []);
  if (!offers("_strata/changes/revert")) return null;
  return (
    <div class="put-back">
      <label><input type="checkbox" checked={checked} onChange={(e) => onChange(e.currentTarget.checked)} /> Also put files back</label>
      {checked && <Preview view={view} target={target} />}
    </div>
  );
}

function Preview({ view, target }: { view: SessionView; target: Target }) {
  const params = JSON.stringify(target);
  const fetched = useMemo(() => new Fetched<Restored>(
    () => view.call("_strata/checkpoint/restore", { ...target, files: true, preview: true }), () => isOpen.peek()), [view, params]);
  const restored = useFetched(fetched);
  if (fetched.failure.value !== "") return <p class="note bad" role="status">No preview: {fetched.failure.value}</p>;
  if (!restored || !("files" in restored) || !restored.files) return <Progress value={undefined} label="Loading the preview" />;
  if (restored.files.length === 0) return <p class="note" role="status">No files were changed since.</p>;
  return (
    <>
      <Outcome restored={{ files: restored.files, omitted: restored.omitted ?? 0 }} folder={view.cwd.value} />
      {restored.note && <p class="note">{restored.note}</p>}
    </>
  );
}
