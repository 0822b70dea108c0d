import * as vscode from 'vscode';
import type { PermissionOption, RequestHandler, ServerRequests } from '@strata/client';
import type { ToView } from '../channel/messages.js';
import { inform } from '../notices.js';

type Asked = ServerRequests['session/request_permission'];

/** A question that is asked. Its number is of this window. */
export interface Asking {
  question: number;
  params: Asked['params'];
}

interface Open {
  params: Asked['params'];
  settle: (result: Asked['result']) => void;
}

/**
 * The open questions of the server to the user. Each view that is drawn gets all of them; the first answer counts. If the
 * chat does not show the session, a notification leads to it.
 */
export class Questions {
  readonly #open = new Map<number, Open>();
  readonly #views = new Set<(message: ToView) => void>();
  readonly #show: (sessionId: string) => void;
  readonly #isInSight: (sessionId: string) => boolean;
  readonly #asked = new vscode.EventEmitter<Asking>();
  readonly #settled = new vscode.EventEmitter<number>();
  #last = 0;

  readonly onDidAsk = this.#asked.event;
  /** A question was answered here or elsewhere, or is no longer asked. */
  readonly onDidSettle = this.#settled.event;

  /** `show` shows a session in the chat, and `isInSight` reports whether the chat shows it. */
  constructor(show: (sessionId: string) => void, isInSight: (sessionId: string) => boolean) {
    this.#show = show;
    this.#isInSight = isInSight;
  }

  readonly ask: RequestHandler<'session/request_permission'> = (params, { signal }) =>
    new Promise((resolve) => {
      const question = ++this.#last;
      const settle = (result: Asked['result']): void => {
        if (!this.#open.delete(question)) return;
        this.#tell({ type: 'withdraw', question });
        this.#settled.fire(question);
        resolve(result);
      };
      this.#open.set(question, { params, settle });
      signal.addEventListener('abort', () => settle({ outcome: { outcome: 'cancelled' } }));
      this.#tell({ type: 'ask', question, params });
      this.#asked.fire({ question, params });
      if (!this.#isInSight(params.sessionId)) void this.#notify(question, params);
    });

  /** Returns the open question about a call, undefined for none. */
  about(sessionId: string, toolCallId: string): Asking | undefined {
    for (const [question, { params }] of this.#open) {
      if (params.sessionId === sessionId && params.toolCall.toolCallId === toolCallId) return { question, params };
    }
    return undefined;
  }

  isOpen(question: number): boolean {
    return this.#open.has(question);
  }

  /** Answers a question by the first option of a kind. */
  choose(question: number, kind: PermissionOption['kind']): void {
    const option = this.#open.get(question)?.params.options.find((o) => o.kind === kind);
    if (option) this.answer(question, { outcome: { outcome: 'selected', optionId: option.optionId } });
  }

  /** Adds a view, which gets the open questions. Returns a function that removes it. */
  add(post: (message: ToView) => void): () => void {
    this.#views.add(post);
    for (const [question, { params }] of this.#open) post({ type: 'ask', question, params });
    return () => this.#views.delete(post);
  }

  answer(question: number, result: Asked['result']): void {
    this.#open.get(question)?.settle(result);
  }

  #tell(message: ToView): void {
    for (const post of this.#views) post(message);
  }

  async #notify(question: number, { sessionId, toolCall }: Asked['params']): Promise<void> {
    const show = vscode.l10n.t('Show Request');
    const chosen = await inform(vscode.l10n.t('Strata needs permission: {0}', toolCall.title ?? ''), show);
    if (chosen === show && this.#open.has(question)) this.#show(sessionId);
  }
}
