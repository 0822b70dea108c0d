import { TitleBar } from "../sessions/title-bar.tsx";
import type { SessionView } from "../store/session.ts";
import { later } from "../ui/later.tsx";

export interface RequestProps {
  view: SessionView;
  /** The id of a call or of its reply. */
  of: string;
  /** The id of the call to compare with, "" for the one before. */
  other: string;
}

const Page = later<RequestProps>(() => import("./page.tsx").then((m) => m.Page), "Loading the request");

/** The page of one request. */
export function RequestPage(props: RequestProps) {
  return (
    <main class="session" id="main" tabIndex={-1}>
      <div class="session-main">
        <TitleBar view={props.view} />
        <Page {...props} />
      </div>
    </main>
  );
}
