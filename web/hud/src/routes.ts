import { computed, signal } from "@preact/signals";
import { decoded } from "./text/format.ts";

/** The page named by the fragment of the address. */
export type Route =
  | { page: "home" }
  | { page: "server"; key: string }
  | { page: "bin" }
  | { page: "connect" }
  | { page: "session"; id: string; tab: string; at: number; of: string; with: string };

/** sequence returns the sequence number of a message, 0 for anything else. */
function sequence(text: string | null): number {
  const n = Number(text);
  return Number.isSafeInteger(n) && n > 0 ? n : 0;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, id, tab, of] = path.split("/");
  if (page === "server") return { page, key: new URLSearchParams(query).get("key") ?? "" };
  if (page === "bin" || page === "connect") return { page };
  if (page === "session" && id) {
    const asked = new URLSearchParams(query);
    return { page, id: decoded(id), tab: tab ?? "", at: sequence(asked.get("at")), of: decoded(of ?? ""), with: asked.get("with") ?? "" };
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

/** serverAddress returns the address of the server page, at the field for a provider's key. */
export const serverAddress = (provider: string): string => `#/server?key=${encodeURIComponent(provider)}`;

/** The tab of the page of a request. */
export const REQUESTS = "requests";

/** requestAddress returns the address of the request of a call, named by its id or that of its reply, compared with another call's. */
export function requestAddress(id: string, of: string, other = ""): string {
  return `${sessionAddress(id, REQUESTS)}/${encodeURIComponent(of)}${other ? `?with=${encodeURIComponent(other)}` : ""}`;
}

export function go(address: string, options: { replace?: boolean } = {}): void {
  if (options.replace) {
    history.replaceState(null, "", address);
    hash.value = location.hash;
  } else {
    location.hash = address;
  }
}
