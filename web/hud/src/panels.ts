import type { ComponentType } from "preact";
import { BudgetPanel } from "./budget/panel.tsx";
import { CostPanel } from "./cost/panel.tsx";
import { FilesPanel } from "./files/panel.tsx";
import { HistoryPanel } from "./history/panel.tsx";
import type { SessionView } from "./store/session.ts";
import { TiersPanel } from "./tiers/panel.tsx";

/**
 * A panel is one tab of the inspector beside a conversation. It gets the session's view: what it shows it reads from
 * there (`useFetched(view.budget)`), and what it does it asks of `view.call`.
 */
export interface Panel {
  /** The last part of the address, #/session/ID/TAB. */
  id: string;
  title: string;
  component: ComponentType<{ view: SessionView }>;
}

/** In the order of the tabs. */
export const panels: readonly Panel[] = [
  { id: "budget", title: "Budget", component: BudgetPanel },
  { id: "tiers", title: "Tiers", component: TiersPanel },
  { id: "cost", title: "Cost", component: CostPanel },
  { id: "history", title: "History", component: HistoryPanel },
  { id: "files", title: "Files", component: FilesPanel },
];
