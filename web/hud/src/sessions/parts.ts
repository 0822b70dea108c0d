/** The parts of the page for managing sessions, which are loaded when the first of them is needed: one file is smaller than several. */
export { ConnectPage } from "../connect/page.tsx";
export { exportSession, importSession } from "../store/transfer.ts";
export { Bin } from "./bin.tsx";
export { FolderDialog } from "./folder-dialog.tsx";
export { NewSession } from "./new-session.tsx";
export { RowMenu } from "./row-menu.tsx";
