import { computed, signal } from "@preact/signals";
import { connect, type Client, type ConnectionState, type Methods } from "@strata/client";

/** The one connection of the page, and what is known of it. Other stores ask for it; nobody else opens one. */
export const connection = signal<ConnectionState>({ kind: "connecting", attempt: 1 });
export const client = signal<Client | null>(null);
/** Why the server takes no connection of this page's, "" while it may. */
export const refusal = signal("");

export const isOpen = computed(() => connection.value.kind === "open" && client.value !== null);

/** Whether the server has a method of ours. */
export function offers(method: string): boolean {
  const strata = client.value?.agent.agentCapabilities._meta?.strata;
  return strata?.methods.includes(method) ?? false;
}

export async function start(): Promise<void> {
  const url = (location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/acp";
  try {
    client.value = await connect({
      url,
      clientInfo: { name: "strata-hud", version: "1" },
      clientCapabilities: { session: { notices: {}, compaction: {} } },
      onState: (state) => {
        connection.value = state;
      },
    });
  } catch (error) {
    refusal.value = error instanceof Error ? error.message : String(error);
  }
}

/** Asks the server. Fails where there is no connection yet. */
export function call<M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  options?: { signal?: AbortSignal },
): Promise<Methods[M]["result"]> {
  const open = client.value;
  if (!open) return Promise.reject(new Error("not connected yet"));
  return open.call(method, params, options);
}
