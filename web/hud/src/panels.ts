import type { ComponentType } from "preact";
import type { SessionView } from "./store/session.ts";

/**
 * A panel is one tab of the inspector beside a conversation. It gets the session's view: what it shows it reads from
 * there (`useFetched(view.budget)`), and what it does it asks of `view.call`.
 */
export interface Panel {
  /** The last part of the address, #/session/ID/TAB. */
  id: string;
  title: string;
  component: ComponentType<{ view: SessionView }>;
}

/** In the order of the tabs. */
export const panels: readonly Panel[] = [];
