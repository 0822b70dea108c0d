import { signal } from "@preact/signals";
import type { Counts } from "@strata/client";
import { call, isOpen } from "./connection.ts";
import { Fetched } from "./fetched.ts";

/** Activity of the server, sent once a second while it changes. */
export const counts = signal<Counts | undefined>(undefined);

const reachable = (): boolean => isOpen.peek();

export const info = new Fetched(() => call("_strata/server/info", {}), reachable);
export const providers = new Fetched(() => call("_strata/providers/list", {}), reachable);

let wasOpen = false;

/** connectionChanged marks the values as stale when the connection is lost and fetches them when it is open again. */
export function connectionChanged(open: boolean): void {
  if (wasOpen && !open) for (const value of [info, providers]) value.lost();
  if (!wasOpen && open) for (const value of [info, providers]) value.changed();
  wasOpen = open;
}

/** setKey sets the key of a provider until the server stops. An empty key removes it. */
export async function setKey(provider: string, key: string): Promise<void> {
  await call("_strata/providers/set_key", { provider, key });
  providers.changed();
  info.changed();
}
