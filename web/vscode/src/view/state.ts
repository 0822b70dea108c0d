import type { Place, Places } from '../../../hud/src/store/places.ts';
import { editor } from './channel.ts';

/** What a page remembers while its document is gone: when it is hidden, and when the window is loaded again. */
interface State {
  /** The address of the HUD. */
  address?: string;
  /** The place of the reader in the session that was shown last. */
  place?: Place & { session: string };
}

/** Time until a change is stored, in milliseconds. A document that is left stores it immediately. */
const STORED_AFTER = 200;

/** Maximum names of opened parts. */
const MAX_EXPANDED = 1000;

let state = asState(editor.getState());
let timer: ReturnType<typeof setTimeout> | undefined;

/** The address that the page had, undefined for a new page. */
export const rememberedAddress = (): string | undefined => state.address;

export const rememberAddress = (address: string): void => change({ address });

/** The places of the reader: the one in the session that was shown last. */
export const places: Places = {
  of: (session) => (state.place?.session === session ? state.place : undefined),
  keep: (session, { expanded, row }) => change({ place: { session, expanded: expanded.slice(-MAX_EXPANDED), ...(row ? { row } : {}) } }),
};

function change(part: State): void {
  state = { ...state, ...part };
  timer ??= setTimeout(store, STORED_AFTER);
}

addEventListener('pagehide', store);

function store(): void {
  if (timer === undefined) return;
  clearTimeout(timer);
  timer = undefined;
  editor.setState(state);
}

/** asState returns what of a stored value is a state. */
function asState(value: unknown): State {
  const { address, place } = (value ?? {}) as Record<string, unknown>;
  const known = asPlace(place);
  return { ...(typeof address === 'string' ? { address } : {}), ...(known ? { place: known } : {}) };
}

function asPlace(value: unknown): State['place'] {
  const { session, expanded, row } = (value ?? {}) as Record<string, unknown>;
  if (typeof session !== 'string' || !Array.isArray(expanded) || !expanded.every((name) => typeof name === 'string')) return undefined;
  const { key, seq, delta } = (row ?? {}) as Record<string, unknown>;
  const isRow = typeof key === 'string' && Number.isSafeInteger(seq) && (seq as number) > 0 && Number.isFinite(delta);
  return { session, expanded, ...(isRow ? { row: { key, seq: seq as number, delta: delta as number } } : {}) };
}
