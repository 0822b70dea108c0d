import "./app.tsx"; // the build then keeps the first load in one file

/** The panels of the inspector, which are loaded together when the first of them is shown. */
export { BudgetPanel } from "./budget/panel.tsx";
export { CostPanel } from "./cost/panel.tsx";
export { FilesPanel } from "./files/panel.tsx";
export { HistoryPanel } from "./history/panel.tsx";
export { ChangesPanel } from "./review/panel.tsx";
export { RulesPanel } from "./rules/panel.tsx";
export { TiersPanel } from "./tiers/panel.tsx";
export { WorkspacePanel } from "./workspace/panel.tsx";
