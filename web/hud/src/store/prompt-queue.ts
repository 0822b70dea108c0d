import { effect, signal, untracked } from "@preact/signals";
import { client, isOpen } from "./connection.ts";
import { asDraft, contentOf, type Draft } from "./drafts.ts";
import { names, onChange, recall, remember } from "./remembered.ts";
import { current } from "./session.ts";
import { failed, undoable } from "./toasts.ts";

/** A prompt that waits for the end of the turn before it. */
export interface Queued extends Draft {
  /** The id of the prompt: the server runs it once, also if several tabs send it. */
  id: string;
}

/** Maximum prompts of a queue, and queues that the browser remembers. */
export const MAX_QUEUED = 20;
const MAX_STORED = 50;

const PREFIX = "queue.";

/**
 * PromptQueue holds the queued prompts of a session, and sends one after each complete reply, also while the page shows
 * another session. If a reply was stopped or failed, or if the page did not see its end, the queue waits for the user.
 */
export class PromptQueue {
  readonly prompts = signal<readonly Queued[]>([]);
  /** Why the queue waits for the user, "" if it does not. */
  readonly paused = signal("");
  /** A turn runs; undefined until the server reports it. */
  private readonly running = signal<boolean | undefined>(undefined);
  private readonly sending = signal("");
  private started = ""; // the id of the newest prompt whose turn has started
  private following: AbortController | null = null;
  /** The storage of the browser has the prompts: what other tabs store there counts. */
  private isShared = true;
  private readonly dispose: (() => void)[];

  constructor(private readonly session: string) {
    this.reload();
    this.dispose = [onChange(PREFIX + session, () => this.reload()), effect(() => this.sendNext())];
  }

  /** close closes a queue without prompts and reports whether it had none. */
  close(): boolean {
    if (this.prompts.peek().length > 0 || this.sending.peek() !== "") return false;
    this.unfollow();
    for (const end of this.dispose) end();
    return true;
  }

  /** add queues a prompt and reports whether there was room. */
  add(draft: Draft): boolean {
    if (this.now().length >= MAX_QUEUED) return false;
    this.set([...this.now(), { ...draft, id: promptId() }]);
    if (!this.following) void this.follow(false);
    return true;
  }

  /** remove removes a prompt and reports whether it was queued: another tab can have sent it. */
  remove(id: string): boolean {
    const now = this.now();
    this.set(now.filter((p) => p.id !== id));
    return now.some((p) => p.id === id);
  }

  /** discard removes a prompt and offers an undo, which puts it back in its place. */
  discard(prompt: Queued): void {
    const at = Math.max(this.prompts.peek().findIndex((p) => p.id === prompt.id), 0);
    if (!this.remove(prompt.id)) return;
    undoable("Queued prompt removed.", async () => {
      const now = this.now().filter((p) => p.id !== prompt.id);
      this.set([...now.slice(0, at), prompt, ...now.slice(at)]);
      if (!this.following) void this.follow(true);
    });
  }

  /** resume sends the prompts of a paused queue. */
  resume(): void {
    this.paused.value = "";
    if (!this.following) void this.follow(false);
  }

  private set(prompts: readonly Queued[]): void {
    this.prompts.value = prompts;
    if (prompts.length === 0) this.paused.value = "";
    const name = PREFIX + this.session;
    const hasRoom = recall(name) !== undefined || names(PREFIX).length < MAX_STORED;
    this.isShared = remember(name, prompts.length > 0 && hasRoom ? prompts : undefined) && (hasRoom || prompts.length === 0);
  }

  /** now returns the prompts as other tabs have left them, of which this tab may not have been told yet. */
  private now(): readonly Queued[] {
    return this.isShared ? this.stored() : this.prompts.peek();
  }

  /** reload takes the prompts that another tab has stored. This tab sends them too, so that they do not depend on the other. */
  private reload(): void {
    if (!this.isShared) return;
    this.prompts.value = this.stored();
    if (this.prompts.value.length === 0) this.paused.value = "";
    else if (!this.following) void this.follow(true);
  }

  private stored(): Queued[] {
    const all = recall(PREFIX + this.session);
    if (!Array.isArray(all)) return [];
    return all.slice(0, MAX_QUEUED).flatMap((value: unknown) => {
      const draft = asDraft(value);
      const { id } = (value ?? {}) as { id?: unknown };
      return draft && typeof id === "string" ? [{ ...draft, id }] : [];
    });
  }

  /** follow follows the turns of the session while prompts are queued. If nothing runs at the start, late queues pause. */
  private async follow(late: boolean): Promise<void> {
    const open = client.peek();
    if (!open) return;
    const stop = (this.following = new AbortController());
    try {
      for await (const event of open.session(this.session).watch({ signal: stop.signal })) {
        if (event.type === "snapshot") {
          const isRunning = event.snapshot.running !== undefined;
          if (!isRunning && (late || this.running.peek()) && this.sending.peek() === "") this.pause("The page did not see the end of the last reply.");
          this.running.value = isRunning;
          late = true;
        } else if (event.type === "event" && event.event.type === "turn_started") {
          this.running.value = true;
          this.started = event.event.promptId ?? "";
        } else if (event.type === "event" && event.event.type === "turn_finished") {
          if (event.event.status !== "completed") this.pause(event.event.status === "cancelled" ? "The reply was stopped." : "The reply failed.");
          this.running.value = false;
        }
        this.unfollowIdle();
      }
    } catch {
      // The session is gone. The page of the session says so.
    }
    if (this.following !== stop) return;
    this.unfollow();
    this.pause("The session was closed.");
  }

  private unfollow(): void {
    this.following?.abort();
    this.following = null;
    this.running.value = undefined;
  }

  private unfollowIdle(): void {
    if (this.prompts.peek().length === 0 && this.sending.peek() === "") this.unfollow();
  }

  private pause(why: string): void {
    if (this.prompts.peek().length > 0) this.paused.value = why;
  }

  /** Sends the first prompt if nothing runs. */
  private sendNext(): void {
    const view = current.value?.id === this.session ? current.value : null;
    const isFree = isOpen.value && this.running.value === false && this.sending.value === "" && !view?.busy.value && this.paused.value === "";
    const next = this.prompts.value[0];
    if (isFree && next) untracked(() => void this.send(next));
  }

  /** Sends a prompt, unless another tab has taken it. While one tab sends, the others wait for the end of its turn. */
  private async send(prompt: Queued): Promise<void> {
    this.sending.value = prompt.id;
    await alone(PREFIX + this.session, async () => {
      if (this.now()[0]?.id === prompt.id) await this.sendFirst(prompt);
      else this.reload();
    });
    this.sending.value = "";
    this.unfollowIdle();
  }

  private async sendFirst(prompt: Queued): Promise<void> {
    const view = current.peek()?.id === this.session ? current.peek() : null;
    const open = client.peek();
    if (!open) return;
    this.remove(prompt.id);
    try {
      if (view && !(await view.prompt(contentOf(prompt), undefined, prompt.id))) this.pause("The reply is not complete.");
      if (!view) await open.session(this.session).prompt(contentOf(prompt), { promptId: prompt.id }).result;
    } catch (error) {
      if (this.started !== prompt.id) this.set([{ ...prompt, id: promptId() }, ...this.now()]);
      this.pause("The reply failed.");
      failed("Cannot send the queued prompt")(error);
    }
  }
}

/** alone runs work while no other tab does under the same name. Browsers without locks for this page run it at once. */
const alone = (name: string, work: () => Promise<void>): Promise<void> =>
  (navigator.locks as LockManager | undefined)?.request(`strata.${name}`, work) ?? work();

const queues = new Map<string, PromptQueue>();

/** queueOf returns the queue of a session. Other queues without prompts are closed. */
export function queueOf(session: string): PromptQueue {
  const known = queues.get(session);
  if (known) return known;
  for (const [other, queue] of queues) if (queue.close()) queues.delete(other);
  const queue = new PromptQueue(session);
  queues.set(session, queue);
  return queue;
}

/** promptId returns a random id. crypto.randomUUID exists only in secure contexts. */
const promptId = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
