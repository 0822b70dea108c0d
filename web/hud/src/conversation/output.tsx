import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Code } from "../code/code.tsx";
import type { LiveOutput, ShownOutput } from "../store/live-output.ts";
import { bytes } from "../text/format.ts";
import { visible } from "../text/visible.ts";
import { CopyButton } from "../ui/controls.tsx";
import { oneLine, place } from "./calls.ts";
import type { CommandLine } from "./command.ts";

/** A command with its folder, if it is not the session's, and its time limit. */
export function Command({ command, folder }: { command: CommandLine; folder: string }) {
  const elsewhere = folderBeside(command.folder, folder);
  return (
    <div class="result command">
      <p class="result-label">
        <span>
          Command
          {elsewhere !== "" && <> in <bdi class="mono">{elsewhere}</bdi></>}
          {command.seconds > 0 && `, at most ${command.seconds} s`}
        </span>
        <CopyButton text={() => command.line} label="Copy command" />
      </p>
      <pre tabIndex={0} aria-label={`Command: ${oneLine(command.line)}`}><Code lang="bash" text={visible(command.line)} /></pre>
    </div>
  );
}

/** folderBeside returns the folder of a command, relative to that of the session; "" if they are the same. */
function folderBeside(of: string, folder: string): string {
  const own = of.replace(/(?<=.)[\\/]+$/, "");
  return own === "." || own === folder.replace(/(?<=.)[\\/]+$/, "") ? "" : place({ path: own }, folder);
}

/** Maximum distance from the end, in pixels, that counts as the end. */
const NEAR = 24;

/**
 * The output of a running call. It follows the newest line until the user scrolls up; then it does not change. Screen readers do
 * not read each line aloud, although the conversation is a log.
 */
export function Output({ of }: { of: LiveOutput }) {
  const lines = useRef<HTMLPreElement>(null);
  const seen = useRef(0);
  const [held, hold] = useState<ShownOutput | null>(null);
  const { text, omitted } = held ?? of.shown.value;
  useLayoutEffect(() => {
    const element = lines.current;
    if (!element || held) return;
    const most = element.scrollHeight - element.clientHeight;
    if (element.scrollTop < Math.min(seen.current, most) - NEAR) return; // the reader scrolls up; the scroll event follows
    element.scrollTop = most;
    seen.current = element.scrollTop;
  });
  const scrolled = (): void => {
    const element = lines.current;
    if (!element) return;
    seen.current = element.scrollTop;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (atEnd === (held !== null)) hold(atEnd ? null : of.shown.peek());
  };
  return (
    <div class="result output">
      <p class="result-label">
        <span>Output{omitted > 0 && <span class="quiet">, first {bytes(omitted)} omitted</span>}</span>
        <span class="result-actions">
          {held && <button type="button" class="link" onClick={() => hold(null)}>Follow output</button>}
          <CopyButton text={() => text} label="Copy output" />
        </span>
      </p>
      <pre ref={lines} tabIndex={0} aria-label="Output" aria-live="off" onScroll={scrolled}>{text}</pre>
    </div>
  );
}
