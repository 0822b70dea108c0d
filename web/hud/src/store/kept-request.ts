import type { Methods } from "@strata/client";
import { Fetched } from "./fetched.ts";
import { isOpen } from "./connection.ts";
import type { SessionView } from "./session.ts";

/** A request as it was sent, and its comparison with another one; null if the request is not kept. */
export interface Kept {
  got: Methods["_strata/requests/get"]["result"];
  compared: Methods["_strata/requests/compare"]["result"] | null;
}

const isMessage = (id: string): boolean => id.startsWith("msg_");

/** keptRequest returns the request of a call, named by its id or that of its reply, compared with that of another call, "" for the one before. */
export function keptRequest(view: SessionView, of: string, other: string): Fetched<Kept> {
  return new Fetched(async () => {
    const got = await view.call("_strata/requests/get", isMessage(of) ? { messageId: of } : { callId: of });
    if (!got.kept) return { got, compared: null };
    const compared = await view.call("_strata/requests/compare", { callId: got.call.callId, ...(other === "" ? {} : { with: other }) });
    return { got, compared };
  }, () => isOpen.peek());
}
