import type { ClientTool, ServeOptions } from './api.js';
import { RpcError } from './errors.js';
import { ErrorCode, type DeclaredTool, type ServerRequests, type ToolResult } from './protocol.js';
import { NOT_SERVED, type Handler } from './serving.js';

/** The maximum number of sessions whose tools are kept. Those of the session that declared least recently are dropped. */
export const MAX_TOOL_SESSIONS = 1_024;

type Run = NonNullable<ClientTool['run']>;
type Call = ServerRequests['_strata/tool/call']['params'];

/** Runs the tools that this client has declared, by session and name. */
export class Tools {
  readonly #runs = new Map<string, Map<string, Run>>();
  /** Runs the calls of tools that were declared without a function. */
  #others: Handler | undefined;

  /** Replaces the tools of a session. */
  declare(sessionId: string, tools: readonly ClientTool[]): void {
    this.#runs.delete(sessionId);
    const runs = new Map(tools.flatMap(({ name, run }): [string, Run][] => (run ? [[name, run]] : [])));
    if (runs.size === 0) return;
    this.#runs.set(sessionId, runs);
    const oldest = this.#runs.keys().next();
    if (this.#runs.size > MAX_TOOL_SESSIONS && !oldest.done) this.#runs.delete(oldest.value);
  }

  /** Runs the calls of other tools by a handler, in place of an earlier one. Returns a function that removes it. */
  serve(handler: Handler): () => void {
    this.#others = handler;
    return () => {
      if (this.#others === handler) this.#others = undefined;
    };
  }

  /** Runs a call. */
  async call(call: Call, options: ServeOptions): Promise<unknown> {
    const { sessionId, toolCallId, name, input } = call;
    const run = this.#runs.get(sessionId)?.get(name);
    if (run) return resultOf(await run(input, { ...options, sessionId, toolCallId }));
    if (this.#others) return this.#others(call, options);
    throw new RpcError(ErrorCode.methodNotFound, NOT_SERVED);
  }
}

/** Returns tools as they are sent to the server. */
export function asDeclared(tools: readonly ClientTool[]): DeclaredTool[] {
  return tools.map(({ run: _, ...tool }) => tool);
}

function resultOf(returned: string | ToolResult): ToolResult {
  return typeof returned === 'string' ? { content: [{ type: 'text', text: returned }] } : returned;
}
