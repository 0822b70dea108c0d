import type { ComponentType } from "preact";
import { BudgetPanel } from "./budget/panel.tsx";
import { CostPanel } from "./cost/panel.tsx";
import { FilesPanel } from "./files/panel.tsx";
import { HistoryPanel } from "./history/panel.tsx";
import { ChangesPanel } from "./review/panel.tsx";
import { RulesPanel } from "./rules/panel.tsx";
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
