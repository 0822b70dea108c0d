import type { AvailableCommand } from "@strata/client";
import type { SessionView } from "../store/session.ts";
import { IconButton } from "../ui/controls.tsx";
import { Markdown } from "./segments.tsx";

/** Maximum number of suggested commands. */
const MAX_SUGGESTIONS = 12;

/** matching returns the commands that a text can become: the text is a slash and the beginning of a name. */
export function matching(text: string, commands: readonly AvailableCommand[]): readonly AvailableCommand[] {
  const begun = /^\/([\w-]*)$/.exec(text)?.[1]?.toLowerCase();
  if (begun === undefined) return [];
  return commands.filter((c) => c.name.toLowerCase().startsWith(begun)).slice(0, MAX_SUGGESTIONS);
}

/** typed returns a command as the text of a prompt, ready for its arguments. */
export const typed = (command: AvailableCommand): string => `/${command.name}${command.input ? " " : ""}`;

interface ListProps {
  commands: readonly AvailableCommand[];
  chosen: number;
  onPick: (command: AvailableCommand) => void;
}

/** The commands that complete a prompt. */
export function CommandList({ commands, chosen, onPick }: ListProps) {
  return (
    <div class="picker">
      <ul class="picker-list" role="listbox" id="command-list" aria-label="Commands">
        {commands.map((c, i) => (
          <li key={c.name} id={`command-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(e) => { e.preventDefault(); onPick(c); }}>
            <code>/{c.name}</code> {c.input?.hint} <span class="quiet">{c.description}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The output of a slash command, until the next prompt. */
export function CommandOutput({ view }: { view: SessionView }) {
  const output = view.output.value;
  if (!output) return null;
  return (
    <section class="command-output" aria-label={`Output of /${output.command}`} role="status">
      <Markdown text={output.text} />
      <IconButton icon="close" label="Close output" onClick={() => (view.output.value = null)} />
    </section>
  );
}
