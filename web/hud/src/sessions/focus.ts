/** linkOf returns the link of a session's row, null if it is not drawn. */
export const linkOf = (id: string): HTMLElement | null => document.querySelector(`.line a[data-session="${CSS.escape(id)}"]`);

/** Time in which an action can still remove or move its row. */
const PATIENCE_MS = 10_000;

/** keepFocus focuses a row, and the next one if an action removes the row or moves it out of sight. */
export function keepFocus(id: string): void {
  const link = linkOf(id);
  const list = link?.closest(".window");
  if (!link || !list) return;
  link.focus();
  const all = [...list.querySelectorAll<HTMLElement>(".line a")];
  const at = all.indexOf(link);
  const next = all[at + 1] ?? all[at - 1];
  const observer = new MutationObserver(() => {
    if (link.isConnected) return;
    observer.disconnect();
    if (document.activeElement === document.body) (next?.isConnected ? next : document.getElementById("search"))?.focus();
  });
  observer.observe(list, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), PATIENCE_MS);
}
