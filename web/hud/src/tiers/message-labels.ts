import type { Message } from "@strata/client";

const MAX_LABEL = 80;

/** labelOf returns a function from the key of a message to its first words; "" for other items. */
export function labelOf(messages: readonly Message[]): (key: string) => string {
  const byId = new Map(messages.map((m) => [m.id, m]));
  return (key) => {
    const message = key.startsWith("msg:") ? byId.get(key.slice(4)) : undefined;
    return message ? beginning(message) : "";
  };
}

/** beginning returns the first words of a message, or the name of the tool it calls. */
function beginning(message: Message): string {
  for (const b of message.blocks) {
    if (b.type === "text" && b.text?.trim()) return b.text.trim().replaceAll(/\s+/g, " ").slice(0, MAX_LABEL);
    if (b.type === "tool_call") return `calls ${b.name}`.slice(0, MAX_LABEL);
  }
  return "";
}
