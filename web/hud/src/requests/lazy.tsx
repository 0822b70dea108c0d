import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { TitleBar } from "../sessions/title-bar.tsx";
import type { SessionView } from "../store/session.ts";
import { reason } from "../store/toasts.ts";
import { Progress } from "../ui/controls.tsx";

export interface RequestProps {
  view: SessionView;
  /** The id of a call or of its reply. */
  of: string;
  /** The id of the call to compare with, "" for the one before. */
  other: string;
}

/** The page of one request. Its code is loaded when it opens first. */
export function RequestPage(props: RequestProps) {
  const [page, setPage] = useState<{ Page: ComponentType<RequestProps> } | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let unmounted = false;
    import("./page.tsx").then(
      ({ Page }) => !unmounted && setPage({ Page }),
      (error: unknown) => setProblem(reason(error)),
    );
    return () => {
      unmounted = true;
    };
  }, []);
  return (
    <main class="session" id="main" tabIndex={-1}>
      <div class="session-main">
        <TitleBar view={props.view} />
        {page ? <page.Page {...props} /> : problem === "" ? <Progress value={undefined} label="Loading the request" /> : <p class="note bad">Cannot load this page: {problem}</p>}
      </div>
    </main>
  );
}
