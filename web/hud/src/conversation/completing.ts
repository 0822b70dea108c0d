import type { AvailableCommand } from "@strata/client";
import type { Mention } from "../store/editor.ts";

/** A place in a prompt that a list can complete: the path after an @, or the name of a command after a slash at the start. */
export interface Place {
  kind: "file" | "command";
  query: string;
  /** The part of the text that a choice replaces. */
  from: number;
  to: number;
}

/** Maximum characters of a query. */
const MAX_QUERY = 200;

/** placeAt returns the place that ends at the caret, null for none. The @ of an e-mail address begins none. */
export function placeAt(text: string, caret: number): Place | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w-]*)$/.exec(before)?.[1];
  if (command !== undefined) return { kind: "command", query: command, from: 0, to: caret };
  const path = /(?:^|[\s([{"'`])@([^\s@]*)$/.exec(before)?.[1];
  if (path === undefined || path.length > MAX_QUERY) return null;
  return { kind: "file", query: path, from: caret - path.length - 1, to: caret };
}

/** A choice of a list: the text that it puts in its place. */
export interface Choice {
  text: string;
  /** The file that it attaches. */
  path?: string;
  /** What the editor attaches. */
  mention?: Mention;
  command?: AvailableCommand;
}

/** Maximum number of suggested commands. */
const MAX_COMMANDS = 12;

/** commandChoices returns the commands whose names begin with a query. */
export function commandChoices(query: string, commands: readonly AvailableCommand[]): Choice[] {
  const begun = query.toLowerCase();
  const all = commands.filter((c) => c.name.toLowerCase().startsWith(begun)).slice(0, MAX_COMMANDS);
  return all.map((command) => ({ text: `/${command.name}${command.input ? " " : ""}`, command }));
}

export const pathChoices = (paths: readonly string[]): Choice[] => paths.map((path) => ({ text: `@${path} `, path }));

export const mentionChoices = (mentions: readonly Mention[]): Choice[] => mentions.map((mention) => ({ text: `@${mention.label} `, mention }));
