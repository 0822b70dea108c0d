import { dialog } from "./dialogs.ts";
import { find } from "./find/open.ts";
import { findHere } from "./located/asking.ts";
import { panelOf, panels } from "./panels.ts";
import { print } from "./print/open.ts";
import { go, route, sessionAddress } from "./routes.ts";
import { hideSessions, showSessions } from "./sessions/sessions-pane.tsx";
import { inspector, sidebar } from "./store/panes.ts";
import { copyMessage } from "./conversation/above.tsx";
import { step } from "./ui/steps.ts";
import { lineKeys, sendKeys } from "./ui/sending.ts";

/** The shortcuts listed in the help dialog. Single-letter shortcuts are inactive while a text field has the focus. */
export const shortcuts = (): readonly { keys: string[]; action: string }[] => [
  { keys: ["/"], action: "Search sessions and messages" },
  { keys: ["Ctrl", "F"], action: "Find in session; press again for the browser’s search" },
  { keys: ["Ctrl", "P"], action: "Print all messages of the session" },
  { keys: ["n"], action: "Create session" },
  { keys: ["c"], action: "Focus the prompt" },
  { keys: ["a"], action: "Focus the answers to a permission request" },
  { keys: ["r"], action: "Review the newest changes of files" },
  { keys: sendKeys(), action: "Send the prompt; during a reply, queue it" },
  { keys: lineKeys(), action: "Start a new line in the prompt" },
  { keys: ["@"], action: "Complete a path in the prompt and attach the file (Tab or Enter)" },
  { keys: ["Esc"], action: "Close or cancel; press twice during a reply to stop it" },
  { keys: ["j", "k"], action: "Next and previous session or message" },
  { keys: ["↑", "↓", "←", "→"], action: "Move in a list or a table, or among the messages" },
  { keys: ["F2"], action: "Rename the focused session" },
  { keys: ["Shift", "F10"], action: "Open the menu of the focused session" },
  { keys: ["y"], action: "Copy the focused message, or the one at the top" },
  { keys: ["f"], action: "Filter the inspector’s list, or search the workspace" },
  { keys: ["w"], action: "Find the selected text, message or file in the next request" },
  { keys: ["[", "]"], action: "Previous and next inspector tab" },
  { keys: ["o"], action: "Open the overview" },
  { keys: ["b"], action: "Show or hide the session list" },
  { keys: ["i"], action: "Show or hide the inspector" },
  { keys: ["s"], action: "Open the server page" },
  { keys: ["?"], action: "Show keyboard shortcuts" },
];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The key of the browser's own shortcuts. On a Mac, Ctrl with a letter moves the cursor in a text. */
const primary = /^(Mac|iP)/.test(navigator.platform) ? "metaKey" : "ctrlKey";

export function listen(): void {
  addEventListener("keydown", (event) => {
    if (event[primary] && !event.altKey && !event.shiftKey) return chord(event);
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || dialog.peek() !== "" || document.querySelector("dialog[open]:not(.drawer)")) return;
    const run = actions[event.key];
    if (!run) return;
    if (run() !== false) event.preventDefault();
  });
}

function chord(event: KeyboardEvent): void {
  const run = chords[event.key.toLowerCase()];
  if (!run || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (run() !== false) event.preventDefault();
}

/** The action of each key with the primary one; false if the browser's own applies. */
const chords: Record<string, () => void | false> = {
  f: find,
  p: print,
};

/** The action of each key; false if the action does not apply. */
const actions: Record<string, () => void | false> = {
  "/": () => {
    showSessions();
    requestAnimationFrame(() => focus("search"));
  },
  b: () => (sidebar.hidden.peek() || document.querySelector(".sidebar") === null ? showSessions() : hideSessions()),
  i: () => toggleInspector(),
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
  o: () => go("#/"),
  w: findHere,
  s: () => go("#/server"),
  "?": () => {
    dialog.value = "help";
  },
  j: () => move(1),
  k: () => move(-1),
  y: () => (copyMessage() ? undefined : false),
  "[": () => tab(-1),
  "]": () => tab(1),
};

function focus(id: string): void | false {
  const element = document.getElementById(id);
  if (!element) return false;
  element.focus();
}

/** Moves the focus in the session list if that has the focus or there are no messages, otherwise among the messages. */
function move(by: number): void | false {
  const transcript = document.querySelector(".transcript[role=log]");
  const inSidebar = document.activeElement?.closest(".sidebar") || !transcript;
  return step(inSidebar ? document.querySelector(".sidebar .window") : transcript, by) ? undefined : false;
}

/** toggleInspector shows or hides the inspector of a wide page. An address without a tab lets it be hidden. */
export function toggleInspector(): void | false {
  const here = route.peek();
  if (here.page !== "session") return false;
  inspector.hidden.value = document.querySelector(".inspector") !== null;
  if (inspector.hidden.peek()) go(sessionAddress(here.id, "", here.at), { replace: true });
}

function tab(step: number): void | false {
  const here = route.peek();
  if (here.page !== "session" || panels.length === 0) return false;
  const now = panels.findIndex((p) => p === panelOf(here.tab));
  const next = panels[(now + step + panels.length) % panels.length];
  if (next) go(sessionAddress(here.id, next.id, here.at));
}
