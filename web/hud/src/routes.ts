import { computed, signal } from "@preact/signals";

/** The page named by the fragment of the address. */
export type Route =
  | { page: "home" }
  | { page: "server" }
  | { page: "bin" }
  | { page: "connect" }
  | { page: "session"; id: string; tab: string; at: number };

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, id, tab] = path.split("/");
  if (page === "server" || page === "bin" || page === "connect") return { page };
  if (page === "session" && id) {
    return { page, id: decodeURIComponent(id), tab: tab ?? "", at: Number(new URLSearchParams(query).get("at")) || 0 };
  }
  return { page: "home" };
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => parse(hash.value));

/** sessionAddress returns the address of a session, optionally with a tab and the sequence number of a message. */
export function sessionAddress(id: string, tab = "", at = 0): string {
  return `#/session/${encodeURIComponent(id)}${tab ? "/" + tab : ""}${at ? `?at=${at}` : ""}`;
}

export function go(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace) {
    history.replaceState(null, "", address);
    hash.value = location.hash;
  } else {
    location.hash = address;
  }
}
