import { ErrorCode, RpcError } from "@strata/client";
import type { FileInfo } from "@strata/client";
import type { SessionView } from "../store/session.ts";
import { failed, toast, undoable } from "../store/toasts.ts";
import { isOutline } from "./rows.ts";

/** addFile adds a file, or only its outline, and shows the outcome. It offers to add a file that looks like a secret. */
export async function addFile(view: SessionView, path: string, options: { state?: "full" | "summary"; allow?: boolean } = {}): Promise<void> {
  try {
    const file = await view.call("_strata/files/add", { path, ...options });
    toast(options.state === "summary" ? `Outline of ${file.path} added.` : `${file.path} added.`);
  } catch (error) {
    if (!isSecret(error)) return failed(`Cannot add ${path}`)(error);
    toast(`${path} looks like a secret.`, { bad: true, action: { label: "Add anyway", run: () => void addFile(view, path, { ...options, allow: true }) } });
  }
}

/** isSecret reports whether a file was refused because it looks like a secret. */
const isSecret = (error: unknown): boolean =>
  error instanceof RpcError && error.code === ErrorCode.refusedPath && error.data?.reason === "secret";

/** removeFile removes a file, and offers an undo that adds it again with the same options. */
export async function removeFile(view: SessionView, file: FileInfo): Promise<void> {
  const { path, range, once, pinned, lineNumbers } = file;
  try {
    await view.call("_strata/files/remove", { path });
  } catch (error) {
    return failed(`Cannot remove ${path}`)(error);
  }
  const before = {
    path, ...(isOutline(file) ? { state: "summary" as const } : {}),
    ...(range ? { range } : {}), ...(once ? { once } : {}), ...(pinned ? { pinned } : {}), ...(lineNumbers ? { lineNumbers } : {}),
  };
  undoable(`${path} removed.`, () => view.call("_strata/files/add", before));
}
