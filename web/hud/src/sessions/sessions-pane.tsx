import { useEffect, useRef } from "preact/hooks";
import { route } from "../routes.ts";
import { drawer, sidebar } from "../store/panes.ts";
import { IconButton } from "../ui/controls.tsx";
import { Divider } from "../ui/divider.tsx";
import { NARROW } from "../ui/media.ts";
import { useModal } from "../ui/modal.ts";
import { Sidebar } from "./sidebar.tsx";

/** The name of the pane, also for its divider. */
export const SESSIONS = "Sessions";

/** The list of sessions: beside the page, or over a narrow one. */
export function SessionsPane({ narrow }: { narrow: boolean }) {
  useEffect(() => {
    if (!narrow) drawer.value = false;
  }, [narrow]);
  const shown = narrow ? drawer.value : !sidebar.hidden.value;
  return (
    <>
      {(narrow || !shown) && <ShowSessions expanded={shown} />}
      {narrow ? shown && <Drawer /> : shown && <Sidebar><Divider pane={sidebar} label={SESSIONS} side="left" /></Sidebar>}
    </>
  );
}

function ShowSessions({ expanded }: { expanded: boolean }) {
  return <div class="show-sessions"><IconButton icon="sidebar" label="Show sessions (b)" expanded={expanded} onClick={showSessions} /></div>;
}

/** showSessions shows the list of sessions, if it is hidden. */
export function showSessions(): void {
  if (matchMedia(NARROW).matches) drawer.value = true;
  else sidebar.hidden.value = false;
}

/** hideSessions hides the list of sessions, and focuses the button that shows it. */
export function hideSessions(): void {
  if (matchMedia(NARROW).matches) drawer.value = false;
  else sidebar.hidden.value = true;
  requestAnimationFrame(() => document.querySelector<HTMLElement>(".show-sessions button")?.focus());
}

/** The list of sessions over the page. Escape, a click outside and another address close it. */
function Drawer() {
  const close = (): void => {
    drawer.value = false;
  };
  const opened = useRef(route.value).current;
  const here = route.value;
  useEffect(() => {
    if (here !== opened) close();
  }, [here]);
  return <dialog {...useModal(close)} class="drawer" aria-label={SESSIONS}><Sidebar /></dialog>;
}
