import { Conversation } from '../../../hud/src/conversation/conversation.tsx';
import { client, connection, refusal } from '../../../hud/src/store/connection.ts';
import { current } from '../../../hud/src/store/session.ts';
import { dismiss, toasts } from '../../../hud/src/store/toasts.ts';
import { Empty, IconButton, Progress } from '../../../hud/src/ui/controls.tsx';
import { perform } from './channel.ts';

/** The chat: the HUD's conversation of one session, in the frame of an editor's view. */
export function Chat() {
  return (
    <div class="chat">
      <Banner />
      <main class="session-main" id="main" tabIndex={-1}>
        <h1 class="hidden">{current.value?.title.value || 'Strata chat'}</h1>
        <Content />
      </main>
      <Toasts />
    </div>
  );
}

function Content() {
  if (refusal.value !== '') {
    return (
      <Empty title="Not connected">
        <p>{refusal.value}</p>
        <p class="empty-actions"><button type="button" class="button primary" onClick={() => perform({ kind: 'fixConnection' })}>Fix connection</button></p>
      </Empty>
    );
  }
  if (!client.value) return <Progress value={undefined} label="Connecting" />;
  const view = current.value;
  if (view) return <Conversation key={view.id} view={view} />;
  return (
    <Empty title="No session">
      <p>Create a session to ask about the files of this workspace.</p>
      <p class="empty-actions"><button type="button" class="button primary" onClick={() => perform({ kind: 'newSession' })}>Create session</button></p>
    </Empty>
  );
}

function Banner() {
  const state = connection.value;
  if (state.kind === 'open' || (state.kind === 'connecting' && !client.value)) return null;
  return (
    <div class="banner" role="status" aria-live="polite">
      <span>Not connected{'reason' in state && state.reason ? `: ${state.reason}` : ''}</span>
      <button type="button" class="button small" onClick={() => (state.kind === 'closed' ? perform({ kind: 'reconnect' }) : client.value?.retryNow())}>Reconnect</button>
    </div>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="region" aria-label="Notifications" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={toast.bad ? 'toast bad' : 'toast'} role={toast.bad ? 'alert' : 'status'}>
          <span>{toast.text}</span>
          {toast.action && <button type="button" class="button small" onClick={() => { toast.action?.run(); dismiss(toast.id); }}>{toast.action.label}</button>}
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
