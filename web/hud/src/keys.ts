import { dialog } from "./dialogs.ts";
import { panels } from "./panels.ts";
import { go, route, sessionAddress } from "./routes.ts";

/** The shortcuts of the page, as the dialog lists them. Those of one letter do nothing while somebody types. */
export const shortcuts: readonly { keys: string[]; what: string }[] = [
  { keys: ["/"], what: "Search all messages" },
  { keys: ["n"], what: "New session" },
  { keys: ["c"], what: "Go to the prompt" },
  { keys: ["Ctrl", "Enter"], what: "Send the prompt" },
  { keys: ["@"], what: "Attach a file to the prompt" },
  { keys: ["Esc"], what: "Close, leave, take back; twice while an answer comes: stop it" },
  { keys: ["j", "k"], what: "Next and previous session or message" },
  { keys: ["↑", "↓"], what: "The same in lists" },
  { keys: ["f"], what: "Filter the list of the inspector" },
  { keys: ["[", "]"], what: "Previous and next tab of the inspector" },
  { keys: ["s"], what: "Server" },
  { keys: ["?"], what: "These shortcuts" },
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

/** What keys do; false where there was nothing to do. */
const actions: Record<string, () => void | false> = {
  "/": () => focus("search"),
  n: () => {
    dialog.value = "new";
  },
  c: () => focus("prompt"),
  f: () => focus("filter"),
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

const listed = ".sidebar .folder, .sidebar .line a, .sidebar a.hit";
const said = ".transcript [data-message]";

/** Moves in the list that has the focus, otherwise among the messages, otherwise in the list of sessions. */
function move(step: number): void | false {
  const inSidebar = document.activeElement?.closest(".sidebar");
  const messages = document.querySelectorAll(said).length > 0;
  return stepIn(inSidebar || !messages ? listed : said, step);
}

function moveInList(step: number): void | false {
  return document.activeElement?.closest(".sidebar .window") ? stepIn(listed, step) : false;
}

function stepIn(selector: string, step: number): void | false {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const now = all.findIndex((e) => e === document.activeElement || e.contains(document.activeElement));
  const next = now < 0 ? all[selector === said ? all.length - 1 : 0] : all[now + step];
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function tab(step: number): void | false {
  const here = route.peek();
  if (here.page !== "session" || panels.length === 0) return false;
  const now = Math.max(panels.findIndex((p) => p.id === here.tab), 0);
  const next = panels[(now + step + panels.length) % panels.length];
  if (next) go(sessionAddress(here.id, next.id, here.at));
}
