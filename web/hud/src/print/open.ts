import { outside } from "../outside.ts";
import { go, route, sessionAddress } from "../routes.ts";

/** The tab in the address of the print view. */
export const PRINT = "print";

/** Whether the print view was opened to print at once. */
export const asked = { print: false };

/** print opens the print view of the open session, which then prints. On the print view itself, the browser's own applies. */
export function print(): void | false {
  const here = route.peek();
  if (!outside.prints || here.page !== "session" || here.tab === PRINT) return false;
  asked.print = true;
  go(sessionAddress(here.id, PRINT));
}
