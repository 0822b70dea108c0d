import { useEffect, useRef, useState } from "preact/hooks";
import { Conversation } from "./conversation/conversation.tsx";
import { dialog } from "./dialogs.ts";
import { Find, FindSelected } from "./located/find.tsx";
import { shortcuts, toggleInspector } from "./keys.ts";
import { outside } from "./outside.ts";
import { PRINT } from "./print/open.ts";
import { opened, panelOf, panels } from "./panels.ts";
import { Review } from "./review/dialog.tsx";
import { RequestPage } from "./requests/lazy.tsx";
import { go, REQUESTS, route, sessionAddress } from "./routes.ts";
import { ServerPage } from "./server/page.tsx";
import { SessionsPane } from "./sessions/sessions-pane.tsx";
import { TitleBar } from "./sessions/title-bar.tsx";
import { client, connection, refusal } from "./store/connection.ts";
import { counts } from "./store/server.ts";
import { bounded, inspector, sidebar } from "./store/panes.ts";
import { current, type SessionView } from "./store/session.ts";
import { sessions } from "./store/sessions.ts";
import { canNotify, choose, wanted } from "./store/notifications.ts";
import { dismiss, failed, toasts } from "./store/toasts.ts";
import { Coded } from "./ui/coded.tsx";
import { Dialog, Empty, IconButton, Progress } from "./ui/controls.tsx";
import { later } from "./ui/later.tsx";
import { Divider } from "./ui/divider.tsx";
import { useRoving } from "./ui/roving.ts";
import { NARROW, useMedia, WIDE } from "./ui/media.ts";
import { enterSends } from "./ui/sending.ts";

const Overview = later(() => import("./overview/page.tsx").then((m) => m.OverviewPage), "Loading the overview");
const NewSession = later(() => import("./sessions/parts.ts").then((m) => m.NewSession));
const Bin = later(() => import("./sessions/parts.ts").then((m) => m.Bin));
const ConnectPage = later(() => import("./sessions/parts.ts").then((m) => m.ConnectPage));
const PrintPage = later(() => import("./print/page.tsx").then((m) => m.PrintPage));

/** The whole page: the list of sessions, the open page, and the inspector. */
export function App() {
  const narrow = useMedia(NARROW);
  if (refusal.value !== "") return <Refused />;
  const here = route.value;
  if (here.page === "session" && here.tab === PRINT && current.value) return <PrintPage key={here.id} view={current.value} />;
  const beside = !narrow && !sidebar.hidden.value;
  return (
    <div class={beside ? "app" : "app bare"} style={widthOf("--sidebar", sidebar)}>
      <nav aria-label="Skip links">
        <Skip to="main" label="Skip to content" />
        <SkipToPrompt />
      </nav>
      <Banner />
      <SessionsPane narrow={narrow} />
      <Content />
      {dialog.value === "new" && <NewSession />}
      {dialog.value === "help" && <Help />}
      <Toasts />
    </div>
  );
}

/** isThere reports whether the session of the address exists, as far as the page knows. */
const isThere = (view: SessionView | null): view is SessionView => view !== null && view.phase.value !== "missing";

/** widthOf returns the style that has the width of a pane, if the user has chosen one. */
function widthOf(name: string, pane: typeof sidebar): Record<string, string> {
  const width = bounded(pane, pane.width.value);
  return { [name]: width === 0 ? "" : `${width}px` };
}

/** The prompt is in the page of a session, unless a panel is in its place. */
function SkipToPrompt() {
  const wide = useMedia(WIDE);
  const here = route.value;
  if (here.page !== "session" || current.value?.phase.value !== "ready" || here.tab === REQUESTS || (!wide && panels.some((p) => p.id === here.tab))) return null;
  return <Skip to="prompt" label="Skip to prompt" />;
}

function Skip({ to, label }: { to: string; label: string }) {
  return <a class="skip" href={`#${to}`} onClick={(e) => { e.preventDefault(); (document.getElementById(to) ?? document.getElementById("main"))?.focus(); }}>{label}</a>;
}

function Content() {
  switch (route.value.page) {
    case "server":
      return <ServerPage />;
    case "bin":
      return <Bin />;
    case "connect":
      return <ConnectPage />;
    case "session":
      if (isThere(current.value) && route.value.tab === REQUESTS) return <RequestPage key={current.value.id} view={current.value} of={route.value.of} other={route.value.with} />;
      return current.value ? <SessionPage view={current.value} tab={route.value.tab} /> : <main class="page" id="main" tabIndex={-1}><Progress value={undefined} label="Connecting" /></main>;
    case "home":
      return <Home />;
  }
}

function SessionPage({ view, tab }: { view: SessionView; tab: string }) {
  const wide = useMedia(WIDE);
  const hidden = wide && inspector.hidden.value && tab === ""; // an address with a tab shows it
  const beside = wide && !hidden;
  const chosen = beside ? panelOf(tab) : panels.find((p) => p.id === tab);
  useEffect(() => opened(tab), [tab]);
  const alone = !wide && chosen !== undefined;
  if (view.phase.value === "missing") return <main class="session" id="main" tabIndex={-1}><h1 class="hidden">Session not found</h1><div class="session-main"><Conversation view={view} /></div></main>;
  return (
    <main class={beside && panels.length > 0 ? "session with-inspector" : "session"} style={widthOf("--inspector", inspector)} id="main" tabIndex={-1}>
      <div class="session-main">
        <TitleBar view={view}>{hidden && <IconButton icon="inspector" label="Show inspector (i)" expanded={false} onClick={() => toggleInspector()} />}</TitleBar>
        {!wide && panels.length > 0 && <Tabs view={view} chosen={chosen?.id ?? ""} withConversation />}
        {alone ? <Inspected view={view} tab={chosen.id} /> : <Conversation view={view} />}
      </div>
      {beside && chosen && (
        <aside class="inspector" aria-label="Inspector">
          <div class="inspector-head">
            <Tabs view={view} chosen={chosen.id} withConversation={false} />
            <IconButton icon="inspector" label="Hide inspector (i)" expanded onClick={() => toggleInspector()} />
          </div>
          <Inspected view={view} tab={chosen.id} />
          <Divider pane={inspector} label="Inspector" side="right" />
        </aside>
      )}
      <Review view={view} />
      <Find view={view} />
      <FindSelected view={view} />
    </main>
  );
}

function Tabs({ view, chosen, withConversation }: { view: SessionView; chosen: string; withConversation: boolean }) {
  const tabs = [...(withConversation ? [{ id: "", title: "Conversation" }] : []), ...panels];
  const keys = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = tabs.findIndex((t) => t.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next) go(sessionAddress(view.id, next.id));
    requestAnimationFrame(() => document.getElementById(`tab-${next?.id}`)?.focus());
  };
  useEffect(() => document.getElementById(`tab-${chosen}`)?.scrollIntoView({ block: "nearest", inline: "nearest" }), [chosen]);
  return (
    <div class="tabs" role="tablist" aria-label="Inspector" onKeyDown={keys}>
      {tabs.map((t) => (
        <a key={t.id} id={`tab-${t.id}`} class="tab" role="tab" href={sessionAddress(view.id, t.id)} aria-selected={t.id === chosen}
          aria-controls={t.id !== "" && t.id === chosen ? "inspected" : undefined} tabIndex={t.id === chosen ? 0 : -1}>{t.title}</a>
      ))}
    </div>
  );
}

function Inspected({ view, tab }: { view: SessionView; tab: string }) {
  const panel = panels.find((p) => p.id === tab);
  const element = useRef<HTMLDivElement>(null);
  useRoving(element, { inside: "table" });
  if (!panel) return null;
  const Panel = panel.component;
  return (
    <div ref={element} class="inspected" id="inspected" role="tabpanel" aria-labelledby={`tab-${panel.id}`} tabIndex={0}>
      <Panel key={`${view.id} ${panel.id}`} view={view} />
    </div>
  );
}

function Home() {
  const many = sessions.value.size;
  if (many > 0) return <main class="page" id="main" tabIndex={-1}><Overview /></main>;
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1 class="hidden">Strata</h1>
      <Empty title="Strata is running">
        <p>Create a session in a folder to ask about its files.</p>
        <p class="empty-actions">
          <button type="button" class="button primary" disabled={!client.value} onClick={() => (dialog.value = "new")}>Create session</button>
        </p>
        <p>Or <a href="#/connect">connect an editor</a>.</p>
      </Empty>
    </main>
  );
}

/** A banner shown while the page is not connected. It offers to reconnect immediately. */
function Banner() {
  const state = connection.value;
  const [shown, setShown] = useState(false);
  const down = state.kind !== "open";
  useEffect(() => {
    if (!down) return setShown(false);
    const timer = setTimeout(() => setShown(true), 300);
    return () => clearTimeout(timer);
  }, [down]);
  if (!down) return <StorageBanner />;
  if (!shown) return null;
  return (
    <div class="banner" role="status" aria-live="polite">
      {state.kind === "connecting" && <span>{client.value ? "Not connected. Reconnecting" : "Connecting"}</span>}
      {state.kind === "waiting" && <><span>Not connected{state.reason ? `: ${state.reason}` : ""}. This page may be out of date. Retrying <Countdown to={state.retryAt} /></span>
        <button type="button" class="button small" onClick={() => client.value?.retryNow()}>Retry now</button></>}
      {state.kind === "closed" && <><span>Connection closed: <Coded text={state.reason} /></span>
        <button type="button" class="button small" onClick={() => outside.reload()}>Reload page</button></>}
    </div>
  );
}

/** A banner shown while the server cannot store anything. */
function StorageBanner() {
  const problem = counts.value?.storage ?? "";
  if (problem === "") return null;
  return <div class="banner" role="alert">Nothing can be stored: {problem}</div>;
}

function Countdown({ to }: { to: Date }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((to.getTime() - now) / 1000);
  return <span class="countdown">{seconds > 0 ? `in ${seconds} s` : "now"}</span>;
}

function Refused() {
  return (
    <main class="page" id="main">
      <Empty title="This page is not authorized">
        <p><Coded text={refusal.value} /></p>
        <p>To open the page with a new address, run on the server’s machine:</p>
        <p><code>strata hud --open</code></p>
        <button type="button" class="button" onClick={() => outside.reload()}>Reload page</button>
      </Empty>
    </main>
  );
}

function Help() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (dialog.value = "")}>
      <dl class="shortcuts">
        {shortcuts().map((s) => (
          <div key={s.action}>
            <dt>{s.keys.map((k) => <kbd key={k}>{k}</kbd>)}</dt>
            <dd>{s.action}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" id="enter-sends" checked={enterSends.value} onChange={(e) => (enterSends.value = e.currentTarget.checked)} /> Enter sends the prompt
      </label>
      {canNotify() && (
        <label class="check">
          <input type="checkbox" id="notifications" checked={wanted.value} onChange={(e) => void turn(e.currentTarget)} /> Notify me of replies and permission requests in other sessions
        </label>
      )}
    </Dialog>
  );
}

/** turn turns notifications on or off as a box says, and unchecks it if the browser does not allow them. */
const turn = (box: HTMLInputElement): Promise<void> =>
  choose(box.checked).then(() => void (box.checked = wanted.peek()), failed("Cannot turn on notifications"));

function Toasts() {
  return (
    <div class="toasts" role="region" aria-label="Notifications" aria-live="polite">
      {toasts.value.map((t) => (
        <div key={t.id} class={t.bad ? "toast bad" : "toast"} role={t.bad ? "alert" : "status"}>
          <span>{t.text}</span>
          {t.action && <button type="button" class="button small" onClick={() => { t.action?.run(); dismiss(t.id); }}>{t.action.label}</button>}
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  );
}
