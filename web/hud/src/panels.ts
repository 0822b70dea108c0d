import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { BudgetPanel } from "./budget/panel.tsx";
import { CostPanel } from "./cost/panel.tsx";
import { FilesPanel } from "./files/panel.tsx";
import { HistoryPanel } from "./history/panel.tsx";
import { ChangesPanel } from "./review/panel.tsx";
import { RulesPanel } from "./rules/panel.tsx";
import { recall, remember } from "./store/remembered.ts";
import type { SessionView } from "./store/session.ts";
import { TiersPanel } from "./tiers/panel.tsx";
import { WorkspacePanel } from "./workspace/panel.tsx";

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

/** The panels in tab order. */
export const panels: readonly Panel[] = [
  { id: "budget", title: "Budget", component: BudgetPanel },
  { id: "tiers", title: "Tiers", component: TiersPanel },
  { id: "cost", title: "Cost", component: CostPanel },
  { id: "history", title: "History", component: HistoryPanel },
  { id: "changes", title: "Changes", component: ChangesPanel },
  { id: "files", title: "Files", component: FilesPanel },
  { id: "workspace", title: "Workspace", component: WorkspacePanel },
  { id: "rules", title: "Rules", component: RulesPanel },
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
