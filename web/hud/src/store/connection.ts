import { computed, signal } from "@preact/signals";
import { connect, type Client, type ConnectionState, type ConnectOptions, type Methods } from "@strata/client";
import { access } from "./access.ts";
import { ask } from "./questions.ts";

/** The state of the page's only connection. */
export const connection = signal<ConnectionState>({ kind: "connecting", attempt: 1 });
export const client = signal<Client | null>(null);
/** Why the server refused the connection of this page; "" if it did not. */
export const refusal = signal("");

export const isOpen = computed(() => connection.value.kind === "open" && client.value !== null);

/** offers reports whether the server has a `_strata/` method. */
export function offers(method: string): boolean {
  const strata = client.value?.agent.agentCapabilities._meta?.strata;
  return strata?.methods.includes(method) ?? false;
}

/** start connects the page. `connectTo` is for a page whose connection is held by an editor. */
export async function start(connectTo: (options: ConnectOptions) => Promise<Client> = connect): Promise<void> {
  const url = (location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/acp";
  try {
    client.value = await connectTo({
      find: () => ({ url, page: access() }),
      clientInfo: { name: "strata-hud", version: "1" },
      handlers: { permission: ask },
      onState: (state) => {
        connection.value = state;
      },
    });
  } catch (error) {
    refusal.value = error instanceof Error ? error.message : String(error);
  }
}

/** call sends a request. It rejects before the first connection is open. */
export function call<M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  options?: { signal?: AbortSignal },
): Promise<Methods[M]["result"]> {
  const open = client.value;
  if (!open) return Promise.reject(new Error("not connected"));
  return open.call(method, params, options);
}
