import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { recall, remember } from "./store/remembered.ts";
import type { SessionView } from "./store/session.ts";
import { later } from "./ui/later.tsx";

/**
 * Panel is one tab of the inspector. Its component reads values from the session's view (`useFetched(view.budget)`) and
 * sends requests with `view.call`.
 */
export interface Panel {
  /** TAB in the address #/session/ID/TAB. */
  id: string;
  title: string;
  component: ComponentType<{ view: SessionView }>;
}

type Parts = typeof import("./inspector.ts");

const inspected = (part: (parts: Parts) => Panel["component"]): Panel["component"] =>
  later(() => import("./inspector.ts").then(part), "Loading the panel");

/** The panels in tab order. */
export const panels: readonly Panel[] = [
  { id: "budget", title: "Budget", component: inspected((m) => m.BudgetPanel) },
  { id: "tiers", title: "Tiers", component: inspected((m) => m.TiersPanel) },
  { id: "cost", title: "Cost", component: inspected((m) => m.CostPanel) },
  { id: "history", title: "History", component: inspected((m) => m.HistoryPanel) },
  { id: "changes", title: "Changes", component: inspected((m) => m.ChangesPanel) },
  { id: "files", title: "Files", component: inspected((m) => m.FilesPanel) },
  { id: "workspace", title: "Workspace", component: inspected((m) => m.WorkspacePanel) },
  { id: "rules", title: "Rules", component: inspected((m) => m.RulesPanel) },
];

const REMEMBERED = "panel";

/** The id of the panel that was opened last in this window, or before it was loaded in any. */
const last = signal(recall(REMEMBERED));

/** opened remembers a panel for addresses without one. It has no effect for other ids. */
export function opened(id: string): void {
  if (id === last.peek() || !panels.some((p) => p.id === id)) return;
  last.value = id;
  remember(REMEMBERED, id);
}

/** panelOf returns the panel for an address: the one it names, otherwise the one that was opened last, otherwise the first. */
export const panelOf = (tab: string): Panel | undefined =>
  panels.find((p) => p.id === tab) ?? panels.find((p) => p.id === last.value) ?? panels[0];
