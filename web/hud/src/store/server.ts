import { signal } from "@preact/signals";
import type { Counts } from "@strata/client";
import { call, isOpen } from "./connection.ts";
import { Fetched } from "./fetched.ts";

/** What the server says of itself each second in which it changes. */
export const counts = signal<Counts | undefined>(undefined);

const reachable = (): boolean => isOpen.peek();

export const info = new Fetched(() => call("_strata/server/info", {}), reachable);
export const providers = new Fetched(() => call("_strata/providers/list", {}), reachable);

let wasOpen = false;

/** Follows the connection: what was known is stale from its loss until it was asked for again. */
export function connectionChanged(open: boolean): void {
  if (wasOpen && !open) for (const value of [info, providers]) value.lost();
  if (!wasOpen && open) for (const value of [info, providers]) value.changed();
  wasOpen = open;
}

/** Gives a provider a key for this run of the server; an empty one takes it back. */
export async function setKey(provider: string, key: string): Promise<void> {
  await call("_strata/providers/set_key", { provider, key });
  providers.changed();
  info.changed();
}
