import { LimitExceeded } from './errors.js';
import type { Block, FileDiff, ImageBlock, Json, TextBlock, ToolCall, ToolCallUpdate, ToolContent, ToolDiff } from './protocol.js';

/** The maximum length of all kept calls, in characters of JSON. */
export const MAX_CALL_CHARS = 16 << 20;

type CallUpdate = ToolCall | ToolCallUpdate;

/**
 * The tool calls of a turn. Updates can be repeated after a lost connection, by the server or from stored messages; a
 * repeated one says nothing new.
 */
export class Calls {
  readonly #calls = new Map<string, ToolCall>();
  #chars = 0;
  #tooLarge = false;

  /** The calls in their present state, in the order of their announcements. Throws `LimitExceeded` if they are too large. */
  all(): ToolCall[] {
    if (this.#tooLarge) throw new LimitExceeded(`the calls of the reply exceed ${MAX_CALL_CHARS} characters`);
    return [...this.#calls.values()];
  }

  /** Adds an update, and returns it as it is to be delivered; null if it says nothing new. */
  add(update: CallUpdate): CallUpdate | null {
    const known = this.#calls.get(update.toolCallId);
    if (!known) return this.#begin(update);
    if (update.sessionUpdate === 'tool_call') return this.#announcedAgain(known, update);
    if (isOver(known) || Object.entries(update).every(([name, value]) => name === 'sessionUpdate' || isSame(value, known[name as keyof ToolCall]))) return null;
    return this.#change(known, update);
  }

  /** Adds a block of a stored message; blocks of other types are ignored. */
  addStored(block: Block, messageId: string): CallUpdate | null {
    switch (block.type) {
      case 'tool_call':
        return this.add({
          sessionUpdate: 'tool_call',
          toolCallId: block.callId,
          title: block.name,
          kind: 'other',
          status: block.incomplete ? 'failed' : 'pending',
          ...inputOf(block.args),
          _meta: { strata: { messageId } },
        });
      case 'tool_result': {
        const { title, kind, locations, outcome, diffs = [] } = block.call ?? {};
        return this.add({
          sessionUpdate: 'tool_call_update',
          toolCallId: block.callId,
          ...(title !== undefined ? { title } : {}),
          ...(kind !== undefined ? { kind } : {}),
          status: block.isError ? 'failed' : 'completed',
          content: contentsOf(block.content ?? [], diffs),
          ...(locations ? { locations } : {}),
          ...(outcome !== undefined ? { _meta: { strata: { outcome } } } : {}),
        });
      }
      default:
        return null;
    }
  }

  #begin(update: CallUpdate): CallUpdate {
    if (this.#takes(update)) this.#calls.set(update.toolCallId, { title: '', status: 'pending', ...update, sessionUpdate: 'tool_call' });
    return update;
  }

  /** A second announcement can bring the input, and that the call is incomplete; its status is older than that of the call. */
  #announcedAgain(known: ToolCall, { toolCallId, status, rawInput }: ToolCall): CallUpdate | null {
    const input = known.rawInput === undefined && rawInput !== undefined ? { rawInput } : {};
    const end = status === 'failed' && !isOver(known) ? { status } : {};
    const update: ToolCallUpdate = { sessionUpdate: 'tool_call_update', toolCallId, ...input, ...end };
    return 'rawInput' in update || 'status' in update ? this.#change(known, update) : null;
  }

  #change(known: ToolCall, update: ToolCallUpdate): ToolCallUpdate {
    const meta = known._meta || update._meta ? { _meta: { strata: { ...known._meta?.strata, ...update._meta?.strata } } } : {};
    if (this.#takes(update, known)) this.#calls.set(known.toolCallId, { ...known, ...update, ...meta, sessionUpdate: 'tool_call' } as ToolCall);
    return update;
  }

  /** Reserves room for an update, which replaces what is known of the call. */
  #takes(update: CallUpdate, known?: ToolCall): boolean {
    this.#chars += JSON.stringify(update).length;
    if (known) this.#chars -= JSON.stringify(replacedBy(update, known)).length;
    this.#tooLarge ||= this.#chars > MAX_CALL_CHARS;
    return !this.#tooLarge;
  }
}

/** Returns the members of a call that an update replaces. */
const replacedBy = (update: CallUpdate, known: ToolCall) =>
  Object.fromEntries(Object.entries(known).filter(([name]) => name !== '_meta' && name in update));

const isOver = ({ status }: ToolCall) => status === 'completed' || status === 'failed';

const isSame = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** The input of a call from its arguments; nothing if they are not JSON. */
function inputOf(args: string | undefined): { rawInput?: Json } {
  try {
    return args ? { rawInput: JSON.parse(args) as Json } : {};
  } catch {
    return {};
  }
}

/** The stored content of a result, as updates have it: after diffs only the text that says what was done. */
function contentsOf(content: readonly (TextBlock | ImageBlock)[], diffs: readonly FileDiff[]): ToolContent[] {
  const shown = diffs.length > 0 ? content.slice(0, 1) : content;
  return [...diffs.flatMap(hunksOf), ...shown.map((content) => ({ type: 'content', content }) as ToolContent)];
}

/** The stored diff of a file, as updates have it: an empty hunk if it has none. */
function hunksOf({ path, created, deleted, hunks, cut }: FileDiff): ToolDiff[] {
  const shown = hunks.length > 0 ? hunks : [{ oldStart: 1, newStart: 1 }];
  return shown.map(({ oldStart, newStart, old = '', new: text = '' }: FileDiff['hunks'][number]) => ({
    type: 'diff',
    path,
    oldText: created ? null : old,
    newText: text,
    _meta: { strata: { oldLine: oldStart, newLine: newStart, ...(deleted ? { deleted } : {}), ...(cut ? { cut } : {}) } },
  }));
}
