import { useEffect, useState } from "preact/hooks";
import { Conversation } from "./conversation/conversation.tsx";
import { dialog } from "./dialogs.ts";
import { Find, FindSelected } from "./find/find.tsx";
import { shortcuts } from "./keys.ts";
import { opened, panelOf, panels } from "./panels.ts";
import { Review } from "./review/dialog.tsx";
import { go, route, sessionAddress } from "./routes.ts";
import { ServerPage } from "./server/page.tsx";
import { NewSession } from "./sessions/new-session.tsx";
import { Sidebar } from "./sessions/sidebar.tsx";
import { TitleBar } from "./sessions/title-bar.tsx";
import { client, connection, refusal } from "./store/connection.ts";
import { counts } from "./store/server.ts";
import { current, type SessionView } from "./store/session.ts";
import { sessions } from "./store/sessions.ts";
import { dismiss, toasts } from "./store/toasts.ts";
import { Dialog, Empty, IconButton, Progress } from "./ui/controls.tsx";
import { enterSends } from "./ui/sending.ts";

/** The whole page: the list of sessions, the open page, and the inspector. */
export function App() {
  if (refusal.value !== "") return <Refused />;
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Banner />
      <Sidebar />
      <Content />
      {dialog.value === "new" && <NewSession />}
      {dialog.value === "help" && <Help />}
      <Toasts />
    </div>
  );
}

function Content() {
  switch (route.value.page) {
    case "server":
      return <ServerPage />;
    case "session":
      return current.value ? <SessionPage view={current.value} tab={route.value.tab} /> : <main class="page" id="main" tabIndex={-1}><Progress value={undefined} label="Connecting" /></main>;
    case "home":
      return <Home />;
  }
}

/** From this viewport width on, the inspector is beside the conversation. */
const wide = matchMedia("(min-width: 1200px)");

function useWide(): boolean {
  const [is, set] = useState(wide.matches);
  useEffect(() => {
    const changed = (): void => set(wide.matches);
    wide.addEventListener("change", changed);
    return () => wide.removeEventListener("change", changed);
  }, []);
  return is;
}

function SessionPage({ view, tab }: { view: SessionView; tab: string }) {
  const beside = useWide();
  const chosen = beside ? panelOf(tab) : panels.find((p) => p.id === tab);
  useEffect(() => opened(tab), [tab]);
  const alone = !beside && chosen !== undefined;
  if (view.phase.value === "missing") return <main class="session" id="main" tabIndex={-1}><div class="session-main"><Conversation view={view} /></div></main>;
  return (
    <main class={beside && panels.length > 0 ? "session with-inspector" : "session"} id="main" tabIndex={-1}>
      <div class="session-main">
        <TitleBar view={view} />
        {!beside && panels.length > 0 && <Tabs view={view} chosen={chosen?.id ?? ""} withConversation />}
        {alone ? <Inspected view={view} tab={chosen.id} /> : <Conversation view={view} />}
      </div>
      {beside && chosen && (
        <aside class="inspector" aria-label="Inspector">
          <Tabs view={view} chosen={chosen.id} withConversation={false} />
          <Inspected view={view} tab={chosen.id} />
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
          aria-controls="inspected" tabIndex={t.id === chosen ? 0 : -1}>{t.title}</a>
      ))}
    </div>
  );
}

function Inspected({ view, tab }: { view: SessionView; tab: string }) {
  const panel = panels.find((p) => p.id === tab);
  if (!panel) return null;
  const Panel = panel.component;
  return (
    <div class="inspected" id="inspected" role="tabpanel" aria-labelledby={`tab-${panel.id}`} tabIndex={0}>
      <Panel key={`${view.id} ${panel.id}`} view={view} />
    </div>
  );
}

function Home() {
  const many = sessions.value.size;
  return (
    <main class="page" id="main" tabIndex={-1}>
      <Empty title={many === 0 ? "Strata is running" : "Choose a session"}>
        <p>{many === 0 ? "Create a session in a folder, or connect an editor." : "The conversation opens here, beside the contents of the next request."}</p>
        <p class="empty-actions">
          <button type="button" class="button primary" disabled={!client.value} onClick={() => (dialog.value = "new")}>Create session</button>
          <a class="button" href="#/server">Connect an editor</a>
        </p>
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
        <button type="button" class="button small" onClick={() => location.reload()}>Reload page</button></>}
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
        <button type="button" class="button" onClick={() => location.reload()}>Reload page</button>
      </Empty>
    </main>
  );
}

/** A text whose parts between backquotes are code. */
function Coded({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
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
    </Dialog>
  );
}

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
