/** The key of the secret in the storage of this origin. Unlike cookies, storage belongs to one port. */
const KEY = "strata-page";

let held = "";

/**
 * Takes the secret of this page, which the server wrote into the page in exchange for a one-time code, stores it for other
 * tabs and reloads, and removes it and the code from the page and its address.
 */
export function enter(): void {
  const handed = document.querySelector<HTMLMetaElement>("meta[name='strata-page']");
  if (!handed) return;
  held = handed.content;
  handed.remove();
  try {
    localStorage.setItem(KEY, held);
  } catch {
    // Without storage, the secret lasts until this tab is reloaded.
  }
  const address = new URL(location.href);
  address.searchParams.delete("code");
  history.replaceState(history.state, "", address);
}

/** access returns the newest secret of this origin: another tab may have got one since. */
export function access(): string {
  try {
    return localStorage.getItem(KEY) ?? held;
  } catch {
    return held;
  }
}
