import { effect, untracked } from "@preact/signals";
import type { Client, ConnectOptions } from "@strata/client";
import { route } from "./routes.ts";
import { client, isOpen, start } from "./store/connection.ts";
import { connectionChanged } from "./store/server.ts";
import { searchAgain } from "./store/search.ts";
import { open } from "./store/session.ts";
import { follow, lost } from "./store/sessions.ts";
import { failed } from "./store/toasts.ts";

/** live connects the page, and keeps its stores equal to the server's data and to its address. `connectTo` is that of `start`. */
export function live(connectTo?: (options: ConnectOptions) => Promise<Client>): void {
  effect(() => {
    const now = isOpen.value;
    untracked(() => {
      connectionChanged(now);
      if (now) searchAgain();
      else lost();
    });
  });
  effect(() => {
    if (client.value) untracked(follow).catch(failed("The session list no longer updates"));
  });
  effect(() => {
    const here = route.value;
    if (client.value) untracked(() => open(here.page === "session" ? here.id : null));
  });
  void start(connectTo);
}
