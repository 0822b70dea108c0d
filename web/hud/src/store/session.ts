import { computed, effect, signal, untracked } from "@preact/signals";
import { ConnectionLost, pages } from "@strata/client";
import type {
  AvailableCommand, Block, Config, ConfigOption, ContentBlock, IndexStatus, ListedEdit, Message, Methods, SessionEvent, SessionHandle, Sought, StrataEvent, Totals, Turn, Update,
} from "@strata/client";
import { followCalibration } from "./calibration.ts";
import { call, client, isOpen, offers } from "./connection.ts";
import { DraftMeter } from "./draft-figures.ts";
import { Fetched } from "./fetched.ts";
import { Labels } from "./labels.ts";
import { LiveCalls } from "./live-calls.ts";
import { Reviews } from "./reviews.ts";
import type { ShownPlan } from "./tool-calls.ts";
import { Transcript, type Entry } from "./transcript.ts";
import { tellFiles } from "./take-back.ts";
import { failed } from "./toasts.ts";
import type { LiveText } from "./live-text.ts";
import { unanswered } from "./unanswered.ts";
import { WorkspaceSearch } from "./workspace-search.ts";

/** A prompt that the server did not accept. */
export interface Failure {
  text: string;
  blocks: ContentBlock[];
}

/** The running turn, and the message of its newest step. */
export interface Running {
  turnId: string;
  messageId: string;
  /** When the turn began, in milliseconds of this browser's clock. */
  begun: number;
  retry?: { attempt: number; of: number; reason: string; until: number };
}

/**
 * SessionView is one session on the page. It subscribes to the session's events and owns its state: the transcript, the
 * options, and the values shown by panels.
 */
export class SessionView {
  readonly phase = signal<"loading" | "ready" | "missing" | "failed" | "closed">("loading");
  readonly problem = signal("");
  readonly title = signal("");
  readonly cwd = signal("");
  /** The session's folder does not exist any more. */
  readonly folderMissing = signal(false);
  readonly config = signal<Config | undefined>(undefined);
  readonly totals = signal<Totals | undefined>(undefined);
  readonly notices = signal<readonly string[]>([]);
  readonly options = signal<readonly ConfigOption[]>([]);
  /** Why the options are unavailable, "" if they are not. */
  readonly optionsProblem = signal("");
  readonly running = signal<Running | null>(null);
  readonly compacting = signal("");
  readonly unsaved = signal("");
  readonly leftOut = signal<readonly { key: string; reason: string }[]>([]);
  readonly failure = signal<Failure | null>(null);
  /** The prompt that is being edited, null for none. */
  readonly editing = signal<Entry | null>(null);
  /** What is looked for in the next request, null for nothing. */
  readonly sought = signal<Sought | null>(null);
  /** The newest changes of tiers. */
  readonly tierChanges = signal<readonly { key: string; from: string; to: string; reason: string }[]>([]);
  /** The slash commands of the session. */
  readonly commands = signal<readonly AvailableCommand[]>([]);
  /** Number of prompts that the user sent from this page, without queued ones, which come when the user may read. */
  readonly prompted = signal(0);
  /** The output of the last prompt, if it was a slash command that is no turn; null for none. */
  readonly output = signal<{ command: string; text: string } | null>(null);
  /** Announced by screen readers. */
  readonly spoken = signal("");
  readonly busy = computed(() => this.running.value !== null || this.sending.value !== null);
  readonly transcript: Transcript;
  readonly calls = new LiveCalls();
  /** The first words of messages. */
  readonly labels = new Labels((params) => this.call("_strata/history/list", params, { signal: this.ended.signal }));
  /** The newest plan of the model, null for none. */
  readonly plan = computed(() => this.newPlan.value ?? this.transcript.plan.value);

  readonly budget = this.value("_strata/context/budget");
  readonly breakdown = this.value("_strata/context/breakdown");
  /** How long the provider's cache stays warm, and what the next request costs then. */
  readonly cache = this.value("_strata/context/cache");
  readonly compaction = this.value("_strata/context/compaction");
  /** Number of newest edits to load. */
  readonly editsWanted = signal(EDITS_PAGE);
  readonly edits = new Fetched(() => this.fetchEdits(), () => this.reachable);
  readonly checkpoints = this.value("_strata/checkpoint/list");
  readonly usage = this.value("_strata/usage/list", { newest: true, limit: CALLS_PAGE });
  readonly files = this.value("_strata/files/list");
  /** The files of the session, those that tools read, and those of which the newest answered request contained an outline. */
  readonly knownFiles = this.value("_strata/files/list", { outlines: true, read: true });
  readonly documents = this.value("_strata/documents/list");
  /** The state of the index of the session's folder. A search for nothing starts the index. */
  readonly index = new Fetched(() => this.fetchIndex(), () => this.reachable);
  readonly workspace = new WorkspaceSearch(this);
  readonly info = this.value("_strata/session/info");
  /** The rules by which calls run without a question. */
  readonly rules = this.value("_strata/permissions/list");
  readonly reviews = new Reviews((params) => this.call("_strata/turn/changes", params, { signal: this.ended.signal }), () => this.reachable);

  /** The figures of the draft in the prompt. */
  readonly draft = new DraftMeter((prompt, signal) => this.call("_strata/context/draft", { prompt }, { signal }));

  /** A call of the running turn has no result yet. */
  readonly calling = computed(() => this.calls.open().length > 0);

  private readonly sending = signal<Turn | null>(null);
  private readonly newPlan = signal<ShownPlan | null>(null);
  private readonly handle: SessionHandle;
  private readonly ended = new AbortController();
  private stopConnection: () => void;
  private stopLabels: () => void;
  private stopCalibration: () => void;

  constructor(readonly id: string) {
    const open = client.peek();
    if (!open) throw new Error("not connected yet");
    this.handle = open.session(id);
    this.transcript = new Transcript((params) => this.call("_strata/history/list", params, { signal: this.ended.signal }));
    this.stopConnection = this.followConnection();
    this.stopCalibration = followCalibration(() => this.changed(this.budget, this.breakdown, this.cache));
    this.stopLabels = effect(() => this.labels.take(this.transcript.entries.value.map((e) => e.message)));
    void this.follow();
  }

  /** close ends the subscription. The session itself continues. */
  close(): void {
    this.ended.abort();
    this.draft.stop();
    this.stopConnection();
    this.stopLabels();
    this.stopCalibration();
  }

  /** call sends a request about this session. */
  call<M extends SessionMethod>(method: M, params: SessionParams<M>, options?: { signal?: AbortSignal }) {
    return call(method, { ...params, sessionId: this.id } as Methods[M]["params"], options);
  }

  private value<M extends SessionMethod>(method: M, more?: SessionParams<M>): Fetched<Methods[M]["result"]> {
    return new Fetched(
      () => call(method, { ...more, sessionId: this.id } as Methods[M]["params"], { signal: this.ended.signal }),
      () => this.reachable,
    );
  }

  private get reachable(): boolean {
    return isOpen.peek() && !this.ended.signal.aborted;
  }

  /** fetchEdits returns at least editsWanted newest edits, oldest first, and whether there are older ones. */
  private async fetchEdits(): Promise<{ edits: ListedEdit[]; older: boolean }> {
    let edits: ListedEdit[] = [];
    for await (const page of pages({ call }, "_strata/history/edits", { sessionId: this.id, limit: EDITS_PAGE }, { signal: this.ended.signal })) {
      edits = [...page.edits, ...edits];
      if (edits.length >= this.editsWanted.peek()) return { edits, older: page.nextCursor !== undefined };
    }
    return { edits, older: false };
  }

  private async fetchIndex(): Promise<IndexStatus> {
    return (await call("_strata/outline/search", { sessionId: this.id, query: "" }, { signal: this.ended.signal })).index;
  }

  /** wantOlderEdits loads older edits too. */
  wantOlderEdits(): void {
    this.editsWanted.value += EDITS_PAGE;
    this.edits.changed();
  }

  private get values(): Fetched<unknown>[] {
    return [this.budget, this.breakdown, this.cache, this.compaction, this.edits, this.checkpoints, this.usage, this.files, this.knownFiles, this.documents, this.index, this.info, this.rules, ...this.reviews.values];
  }

  private followConnection(): () => void {
    let was = isOpen.peek();
    return effect(() => {
      const now = isOpen.value;
      untracked(() => {
        if (was && !now) for (const value of this.values) value.lost();
        if (!was && now) {
          this.changed(...this.values);
          this.workspace.repeat();
        }
      });
      was = now;
    });
  }

  private changed(...values: Fetched<unknown>[]): void {
    for (const value of values) value.changed();
  }

  private async follow(): Promise<void> {
    try {
      for await (const event of this.handle.watch({ signal: this.ended.signal, commands: true })) this.apply(event);
      if (!this.ended.signal.aborted) this.phase.value = "closed";
    } catch (error) {
      if (this.ended.signal.aborted) return;
      this.phase.value = (error as { code?: number }).code === -32002 ? "missing" : "failed";
      this.problem.value = error instanceof Error ? error.message : String(error);
    }
  }

  private apply(event: SessionEvent): void {
    switch (event.type) {
      case "snapshot":
        this.reset(event);
        break;
      case "update":
        this.update(event.update);
        break;
      case "event":
        this.event(event.event);
        break;
      case "commands":
        this.commands.value = event.commands;
        break;
    }
  }

  /** Everything below that an event changes is set here: events before the snapshot may be lost, as by a crash of the server. */
  private reset(event: Extract<SessionEvent, { type: "snapshot" }>): void {
    const { snapshot } = event;
    this.problem.value = "";
    this.compacting.value = snapshot.compacting ?? "";
    this.folderMissing.value = snapshot.session._meta?.strata?.folderMissing ?? false;
    this.leftOut.value = [];
    this.tierChanges.value = [];
    this.spoken.value = "";
    if (snapshot.running) this.failure.value = null;
    this.title.value = snapshot.session.title ?? "";
    this.cwd.value = snapshot.session.cwd;
    this.config.value = snapshot.config;
    this.totals.value = snapshot.totals;
    this.notices.value = snapshot.notices ?? [];
    this.unsaved.value = snapshot.unsaved ? "retrying" : "";
    this.transcript.reset(snapshot.messages, snapshot.summary, snapshot.nextCursor !== undefined);
    this.calls.clear();
    this.newPlan.value = null;
    this.running.value = null;
    if (snapshot.running) {
      const { turnId, messageId, text, thought, elapsedMs } = snapshot.running;
      this.running.value = { turnId, messageId, begun: Date.now() - (elapsedMs ?? 0) };
      const live = this.transcript.live(messageId, turnId);
      if (thought) live?.add("thought", thought, true);
      if (text) live?.add("text", text, true);
    }
    this.phase.value = "ready";
    this.changed(...this.values);
    void this.askOptions();
  }

  private async askOptions(): Promise<void> {
    try {
      const result = await call("session/resume", { sessionId: this.id, cwd: this.cwd.peek(), mcpServers: [] });
      this.options.value = result.configOptions;
      this.optionsProblem.value = "";
    } catch (error) {
      this.optionsProblem.value = error instanceof Error ? error.message : String(error);
    }
  }

  /** arriving returns the reply to which an update belongs, undefined if it is stored. The notice of a retry ends. */
  private arriving(messageId: string): LiveText | undefined {
    const running = this.running.value;
    if (running && (running.retry || running.messageId !== messageId)) this.running.value = { turnId: running.turnId, messageId, begun: running.begun };
    return this.transcript.live(messageId, running?.turnId);
  }

  private update(update: Update): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") this.arriving(update.messageId)?.add("text", update.content.text);
        break;
      case "agent_thought_chunk":
        if (update.content.type === "text") this.arriving(update.messageId)?.add("thought", update.content.text);
        break;
      case "tool_call":
        if (update._meta?.strata.messageId) this.arriving(update._meta.strata.messageId)?.call(update.toolCallId, update.title);
        if (this.running.value) this.calls.update(update);
        break;
      case "tool_call_update":
        if (this.running.value) this.calls.update(update);
        break;
      case "plan":
        this.newPlan.value = { turnId: this.running.value?.turnId ?? "", entries: update.entries };
        break;
      case "user_message_chunk":
        this.transcript.userBlock(update.messageId, update.content as Block);
        break;
      case "session_info_update":
        this.title.value = update.title;
        break;
      case "config_option_update":
        this.options.value = update.configOptions;
        break;
      case "notice":
        this.notices.value = [...this.notices.value.filter((n) => n !== update.title), update.title].slice(-MAX_NOTICES);
        break;
    }
  }

  private event(event: StrataEvent): void {
    switch (event.type) {
      case "turn_started":
        this.failure.value = null;
        this.leftOut.value = [];
        this.running.value = { turnId: event.turnId, messageId: event.messageId, begun: Date.now() };
        this.transcript.started(event.turnId, event.promptId, event.userMessageId, event.messageId);
        this.spoken.value = "Reply started.";
        break;
      case "turn_finished":
        this.finished(event);
        break;
      case "left_out":
        this.leftOut.value = event.leftOut;
        break;
      case "retrying":
        if (this.running.value) {
          const { attempt, of, reason, delayMs } = event;
          this.running.value = { ...this.running.value, retry: { attempt, of, reason, until: Date.now() + delayMs } };
        }
        break;
      case "saved":
        this.unsaved.value = "";
        void this.refresh();
        break;
      case "save_failed":
        this.unsaved.value = event.reason;
        break;
      case "context_changed":
        this.changed(this.budget, this.breakdown, this.cache, this.edits, this.compaction, this.checkpoints, this.info, this.documents, this.knownFiles, ...this.reviews.values);
        void this.refresh();
        break;
      case "compaction":
        this.compacting.value = event.outcome === "running" ? event.compactionId : "";
        this.changed(this.compaction, this.budget, this.breakdown, this.cache, this.edits, this.usage);
        break;
      case "tiers_changed":
        this.tierChanges.value = event.changes;
        this.changed(this.breakdown);
        break;
      case "files_changed":
        this.changed(this.files, this.knownFiles, this.budget, this.breakdown, this.cache);
        break;
      case "index":
        this.indexed(event);
        break;
      case "config_changed":
        this.config.value = event.config;
        this.changed(this.budget, this.breakdown, this.cache, this.compaction, this.info);
        break;
      case "permissions_changed":
        this.changed(this.rules);
        break;
      case "resynced":
        this.changed(...this.values);
        void this.refresh();
        break;
      case "closed":
        this.running.value = null;
        this.problem.value = closings[event.reason] ?? "The server unloaded the session. It is stored.";
        break;
    }
  }

  /** A complete index can have results and outlines that the one before had not. Each comparison with the disk is reported. */
  private indexed(event: Extract<StrataEvent, { type: "index" }>): void {
    const { complete, files, outlined, pending, omissions, problem } = event;
    const before = this.index.value.peek();
    this.index.replace({ complete, files, outlined, pending, ...(omissions ? { omissions } : {}), ...(problem ? { problem } : {}) });
    if (!complete || (before?.complete && before.files === files && before.outlined === outlined)) return;
    this.workspace.repeat();
    this.changed(this.budget, this.breakdown);
  }

  private finished(event: Extract<StrataEvent, { type: "turn_finished" }>): void {
    const running = this.running.value;
    this.running.value = null;
    this.changed(this.budget, this.breakdown, this.cache, this.usage, this.compaction, this.info, this.files, this.knownFiles, ...this.reviews.values);
    if (!event.messageId && running) this.transcript.drop(running.messageId);
    this.spoken.value = event.status === "completed" ? "Reply complete." : `Reply ${event.status}${event.error ? `: ${event.error.message}` : ""}.`;
    const isStored = this.unsaved.value === "";
    void this.refresh().then((loaded) => {
      if (loaded && isStored) this.transcript.ended(event.turnId);
    });
  }

  /**
   * Loads changed messages, and reports whether that succeeded. A lost connection is not reported here: the page shows it,
   * and a snapshot follows.
   */
  private async refresh(): Promise<boolean> {
    try {
      await this.transcript.refresh();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) failed("Cannot load messages")(error);
      return false;
    }
    this.calls.drop([...this.transcript.results.peek().of.values()].map((result) => result.block.callId));
    return true;
  }

  /**
   * prompt sends a prompt, a queued one with its id, and reports whether the reply is complete. The reply arrives as events; a
   * failure is shown in the conversation.
   */
  async prompt(blocks: ContentBlock[], meta?: Message["meta"], queuedId?: string): Promise<boolean> {
    this.failure.value = this.output.value = null;
    if (this.transcript.newer.peek()) await this.transcript.showNewest();
    const turn = this.handle.prompt(blocks, { ...(meta === undefined ? {} : { meta }), ...(queuedId === undefined ? {} : { promptId: queuedId }) });
    const { promptId } = turn;
    this.transcript.prompted(promptId, blocks.map(asBlock));
    if (queuedId === undefined) this.prompted.value++;
    this.sending.value = turn;
    try {
      const { command, stopReason } = await turn.result;
      this.transcript.unprompted(promptId); // if no turn started: a command, or a prompt whose turn had ended
      if (command !== undefined) {
        this.output.value = { command, text: await turn.text() };
      }
      return stopReason !== "cancelled";
    } catch (error) {
      this.unsent(promptId, blocks, error as Error);
      return false;
    } finally {
      if (this.sending.peek() === turn) this.sending.value = null;
    }
  }

  /** Handles a failed prompt. The transcript shows the failure of a turn; the server did not accept other prompts. */
  private unsent(promptId: string, blocks: ContentBlock[], error: Error): void {
    const own = this.transcript.tail.peek().some((e) => e.promptId === promptId && e.message.id === "");
    if (!own) return;
    this.transcript.unprompted(promptId);
    this.failure.value = { text: error.message, blocks };
  }

  /**
   * promptInstead replaces an earlier prompt: it restores the view before that prompt and sends the new one. putBack also puts
   * back the files that tools changed since.
   */
  async promptInstead(userMessageId: string, blocks: ContentBlock[], meta?: Message["meta"], putBack = false): Promise<void> {
    const restored = await this.call("_strata/checkpoint/restore", { beforeMessageId: userMessageId, ...(putBack ? { files: true } : {}) });
    tellFiles(restored, false, this.cwd.peek());
    await this.prompt(blocks, meta);
  }

  /**
   * again sends a stored prompt again. The turn of the newest one goes on from its newest finished step; an answered prompt
   * replaces itself; one outside the view becomes a new prompt.
   */
  async again(prompt: Entry): Promise<void> {
    if (this.transcript.newer.peek()) await this.transcript.showNewest();
    else await this.transcript.refresh();
    const { id, blocks, meta, inView } = prompt.message;
    const open = unanswered(this.transcript.entries.peek());
    if (!inView || (open?.prompt.message.id === id && !open.changed)) await this.prompt(asPrompt(blocks), meta);
    else await this.promptInstead(id, asPrompt(blocks), meta);
  }

  /** retry sends a prompt again that the server did not accept. */
  async retry(): Promise<void> {
    const failure = this.failure.peek();
    if (failure) await this.prompt(failure.blocks);
  }

  /** cancel cancels the running turn, whichever client started it. */
  cancel(): void {
    const turn = this.sending.peek();
    if (turn) turn.cancel();
    else this.handle.cancel();
  }

  /** move makes another folder that of the session. Its relative files are looked up there. */
  async move(folder: string): Promise<void> {
    const result = await this.call("session/resume", { cwd: folder, mcpServers: [], _meta: { strata: { moved: true } } });
    this.options.value = result.configOptions;
    this.optionsProblem.value = "";
    this.cwd.value = folder;
    this.folderMissing.value = false;
    this.notices.value = this.notices.value.filter((n) => !n.startsWith(FOLDER_NOTICE));
    this.changed(...this.values);
  }

  /** choose sets an option. It takes effect with the next turn. */
  async choose(configId: string, value: string): Promise<void> {
    const result = await this.call("session/set_config_option", { configId, value });
    this.options.value = result.configOptions;
    this.changed(this.budget, this.breakdown, this.cache, this.compaction, this.info);
  }

  get canRestore(): boolean {
    return offers("_strata/checkpoint/restore");
  }
}

/** asBlock returns a block of a prompt as the transcript has it. */
const asBlock = (b: ContentBlock): Block => (b.type === "resource" ? { type: "resource", uri: b.resource.uri, text: b.resource.text ?? "" } : b);

/** asPrompt returns the blocks of a stored prompt as the same prompt content. */
function asPrompt(blocks: readonly Block[]): ContentBlock[] {
  return blocks.flatMap((b): ContentBlock[] => {
    switch (b.type) {
      case "text":
        return [{ type: "text", text: b.text ?? "" }];
      case "image":
        return b.data && b.mimeType ? [{ type: "image", data: b.data, mimeType: b.mimeType, ...(b.uri ? { uri: b.uri } : {}) }] : [];
      case "resource_link":
        return [b];
      case "resource":
        return [{ type: "resource", resource: { uri: b.uri, text: b.text ?? "", ...(b.mimeType ? { mimeType: b.mimeType } : {}) } }];
      default:
        return [];
    }
  });
}

/** Why the session ended, by the reason of the event. */
const closings: Record<string, string> = {
  closed: "Another client closed the session. It is stored.",
  deleted: "The session was deleted. strata undelete restores it until retention expires.",
};

/** Edits, and model calls, per request. */
const EDITS_PAGE = 50;
const CALLS_PAGE = 200;

/** How the server's notice on a missing folder starts. */
const FOLDER_NOTICE = "Cannot open the session folder";

/** Maximum number of notices shown. */
const MAX_NOTICES = 8;

type SessionMethod = { [M in keyof Methods]: Methods[M]["params"] extends { sessionId: string } ? M : never }[keyof Methods];
type SessionParams<M extends SessionMethod> = WithoutSession<Methods[M]["params"]>;
type WithoutSession<P> = P extends unknown ? Omit<P, "sessionId"> : never;

/** The view of the open session, null for none. At most one is open. */
export const current = signal<SessionView | null>(null);

/** open closes the open session and opens another. */
export function open(id: string | null): void {
  const now = current.peek();
  if (now?.id === id) return;
  now?.close();
  current.value = id === null ? null : new SessionView(id);
}

/** reopen opens the current session again after it was closed. */
export function reopen(): void {
  const id = current.peek()?.id ?? null;
  open(null);
  open(id);
}
