import { dialog } from "./dialogs.ts";
import { findHere } from "./find/asking.ts";
import { panelOf, panels } from "./panels.ts";
import { go, route, sessionAddress } from "./routes.ts";
import { lineKeys, sendKeys } from "./ui/sending.ts";

/** The shortcuts listed in the help dialog. Single-letter shortcuts are inactive while a text field has the focus. */
export const shortcuts = (): readonly { keys: string[]; action: string }[] => [
  { keys: ["/"], action: "Search all messages" },
  { keys: ["n"], action: "Create session" },
  { keys: ["c"], action: "Focus the prompt" },
  { keys: ["a"], action: "Focus the answers to a permission request" },
  { keys: ["r"], action: "Review the newest changes of files" },
  { keys: sendKeys(), action: "Send the prompt; during a reply, queue it" },
  { keys: lineKeys(), action: "Start a new line in the prompt" },
  { keys: ["@"], action: "Complete a path in the prompt and attach the file; Tab or Enter takes" },
  { keys: ["Esc"], action: "Close or cancel; press twice during a reply to stop it" },
  { keys: ["j", "k"], action: "Next and previous session or message" },
  { keys: ["↑", "↓"], action: "Next and previous entry of the session list" },
  { keys: ["f"], action: "Filter the inspector’s list, or search the workspace" },
  { keys: ["i"], action: "Is the selected text, message or file in the next request?" },
  { keys: ["[", "]"], action: "Previous and next inspector tab" },
  { keys: ["s"], action: "Open the server page" },
  { keys: ["?"], action: "Show keyboard shortcuts" },
];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function listen(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || dialog.peek() !== "" || document.querySelector("dialog[open]")) return;
    const run = actions[event.key];
    if (!run) return;
    if (run() !== false) event.preventDefault();
  });
}

/** The action of each key; false if the action does not apply. */
const actions: Record<string, () => void | false> = {
  "/": () => focus("search"),
  n: () => {
    dialog.value = "new";
  },
  c: () => focus("prompt"),
  a: () => {
    const answer = document.querySelector<HTMLElement>(".question-answers button");
    if (!answer) return false;
    answer.focus();
  },
  r: () => {
    const review = [...document.querySelectorAll<HTMLElement>(".changes-line")].at(-1);
    if (!review) return false;
    review.focus();
    review.click();
  },
  f: () => focus("filter"),
  i: findHere,
  s: () => go("#/server"),
  "?": () => {
    dialog.value = "help";
  },
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => moveInList(1),
  ArrowUp: () => moveInList(-1),
  "[": () => tab(-1),
  "]": () => tab(1),
};

function focus(id: string): void | false {
  const element = document.getElementById(id);
  if (!element) return false;
  element.focus();
}

const listEntries = ".sidebar .folder, .sidebar .line a, .sidebar a.hit";
const messageHeads = ".transcript [data-message]";

/** Moves the focus in the session list if that has the focus or there are no messages, otherwise among the messages. */
function move(step: number): void | false {
  const inSidebar = document.activeElement?.closest(".sidebar");
  const messages = document.querySelectorAll(messageHeads).length > 0;
  return stepIn(inSidebar || !messages ? listEntries : messageHeads, step);
}

function moveInList(step: number): void | false {
  return document.activeElement?.closest(".sidebar .window") ? stepIn(listEntries, step) : false;
}

function stepIn(selector: string, step: number): void | false {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const now = all.findIndex((e) => e === document.activeElement || e.contains(document.activeElement));
  const next = now < 0 ? all[selector === messageHeads ? all.length - 1 : 0] : all[now + step];
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function tab(step: number): void | false {
  const here = route.peek();
  if (here.page !== "session" || panels.length === 0) return false;
  const now = panels.findIndex((p) => p === panelOf(here.tab));
  const next = panels[(now + step + panels.length) % panels.length];
  if (next) go(sessionAddress(here.id, next.id, here.at));
}
