import type { CallOptions, Client } from './api.js';
import { abortReason, asError } from './errors.js';
import type { Assembled, Block, ImageBlock, Json, MessageMeta, Methods, NewMessage, TextBlock, Tool, Usage } from './protocol.js';

type Calls = Pick<Client, 'call'>;

/** The stored reply of a model, with its usage and cost. */
export type Committed = Methods['_strata/context/commit']['result'];

/** A request to send to a model, and the function that stores its reply. */
export interface Assembly extends Assembled {
  /**
   * Stores the reply with its usage. The server accepts one reply to the newest request of a session, so after
   * `ConnectionLost` the same commit can be repeated: if the first one was stored, the second is refused with -32602.
   */
  commit(reply: ModelReply): Promise<Committed>;
}

/** The reply of a model. */
export interface ModelReply {
  /** A text, or the blocks of the message: thinking, texts and tool calls. */
  content: string | Block[];
  /** As the provider has reported it; without it the server counts the call. */
  usage?: Usage;
  /** Attached to the message. */
  meta?: Json | MessageMeta;
}

export interface AssembleOptions extends CallOptions {
  /** The tools that the request declares. */
  tools?: readonly Tool[];
}

/** Returns the next request of a session, for a model that the frontend calls itself. */
export async function assemble(client: Calls, sessionId: string, { tools = [], signal }: AssembleOptions = {}): Promise<Assembly> {
  const options = signal ? { signal } : {};
  const declared = tools.map(({ name, description, inputSchema }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
  }));
  const request = await client.call('_strata/context/assemble', { sessionId, ...(declared.length > 0 ? { tools: declared } : {}) }, options);
  const commit = ({ content, usage, meta }: ModelReply): Promise<Committed> => {
    const message: NewMessage = { role: 'assistant', content, ...(meta === undefined ? {} : { meta }) };
    const { assemblyId } = request;
    return client.call('_strata/context/commit', {
      sessionId,
      ...(assemblyId === undefined ? {} : { assemblyId }),
      messages: [message],
      ...(usage ? { usage } : {}),
    });
  };
  return { ...request, commit };
}

/** A tool that the frontend runs for its own model. */
export interface ModelTool extends Tool {
  /** Runs a call. The model receives the message of an error that it throws. */
  run: (input: any, options: { callId: string; signal?: AbortSignal }) => string | ResultContent | Promise<string | ResultContent>;
}

type ResultContent = (TextBlock | ImageBlock)[];

export interface ModelTurnOptions extends CallOptions {
  /** Calls the model. Aborting `signal` ends the call. */
  model: (request: Assembled, options: CallOptions) => Promise<ModelReply>;
  /** The user's message; without it the reply continues the session as it is. */
  prompt?: string | Block[];
  /** Attached to the user's message. */
  meta?: Json | MessageMeta;
  tools?: readonly ModelTool[];
  /** The maximum number of calls of the model, by default 50. */
  maxSteps?: number;
}

/** The reply of a turn, in one or more steps. */
export interface ModelTurn {
  /** The texts of all steps, separated by blank lines. */
  text: string;
  /** One for each call of the model. */
  steps: Committed[];
  /** `max_steps`: the model was calling tools when the limit was reached. */
  stopReason: 'end_turn' | 'max_steps';
}

/**
 * Runs a turn with a model that the frontend calls itself: stores the prompt, and then assembles a request, calls the model,
 * stores its reply, runs the called tools and stores their results, until the model calls no more tools. All that is stored
 * stays if the signal is aborted or a step fails; a later turn without `prompt` continues from there.
 */
export async function runTurn(client: Calls, sessionId: string, options: ModelTurnOptions): Promise<ModelTurn> {
  const { model, prompt, meta, tools = [], maxSteps = 50, signal } = options;
  const calling: CallOptions = signal ? { signal } : {};
  const append = (message: NewMessage) => client.call('_strata/history/append', { sessionId, messages: [message] });
  if (signal?.aborted) throw abortReason(signal);
  if (prompt !== undefined) await append({ role: 'user', content: prompt, ...(meta === undefined ? {} : { meta }) });
  const steps: Committed[] = [];
  const texts: string[] = [];
  while (steps.length < maxSteps) {
    const { commit, ...request } = await assemble(client, sessionId, { tools, ...calling });
    const answer = await model(request, calling);
    steps.push(await commit(answer));
    const blocks: Block[] = typeof answer.content === 'string' ? [{ type: 'text', text: answer.content }] : answer.content;
    const text = blocks.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
    if (text !== '') texts.push(text);
    const calls = blocks.filter((block) => block.type === 'tool_call');
    if (calls.length === 0) return { text: texts.join('\n\n'), steps, stopReason: 'end_turn' };
    const results = await Promise.all(calls.map((call) => resultOf(call, tools, signal)));
    if (signal?.aborted) throw abortReason(signal);
    await append({ role: 'tool', content: results });
  }
  return { text: texts.join('\n\n'), steps, stopReason: 'max_steps' };
}

type ToolCallBlock = Extract<Block, { type: 'tool_call' }>;

/** Runs a call and returns its result. An incomplete call is not run. */
async function resultOf({ callId, name, args, incomplete }: ToolCallBlock, tools: readonly ModelTool[], signal?: AbortSignal): Promise<Block> {
  try {
    const tool = tools.find((tool) => tool.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    if (incomplete) throw new Error('the call is incomplete and was not run');
    const content = await tool.run(args ? JSON.parse(args) : {}, { callId, ...(signal ? { signal } : {}) });
    return { type: 'tool_result', callId, content: typeof content === 'string' ? [{ type: 'text', text: content }] : content };
  } catch (error) {
    return { type: 'tool_result', callId, content: [{ type: 'text', text: asError(error).message }], isError: true };
  }
}
