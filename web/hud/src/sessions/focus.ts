/** linkOf returns the link of a session's row, null if it is not drawn. */
export const linkOf = (id: string): HTMLElement | null => document.querySelector(`.line a[data-session="${CSS.escape(id)}"]`);
