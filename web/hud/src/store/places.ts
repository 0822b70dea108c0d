/** Where the reader of a session is. */
export interface Place {
  /** The names of the parts that the reader has opened or closed. */
  expanded: readonly string[];
  /** The row at the upper edge, absent at the end: its key, the sequence number of its message, and the pixels from its top to the edge. */
  row?: { key: string; seq: number; delta: number };
}

/** Keeps places for a page that can be drawn again at any time, as in an editor. */
export interface Places {
  of(session: string): Place | undefined;
  keep(session: string, place: Place): void;
}

/** The page in a browser begins each session at its end. */
let places: Places = { of: () => undefined, keep: () => {} };

export const keepPlacesIn = (those: Places): void => void (places = those);

export const placeOf = (session: string): Place | undefined => places.of(session);

export const keepPlace = (session: string, place: Place): void => places.keep(session, place);
