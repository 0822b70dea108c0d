import { signal } from "@preact/signals";
import type { Methods, TurnChange } from "@strata/client";
import { Fetched } from "./fetched.ts";

type List = Methods["_strata/turn/changes"];

/** Listed are changes of files, newest turn first. */
export interface Listed {
  changes: readonly TurnChange[];
  /** The number of changes that have no room. */
  omitted: number;
  /** There are older turns with changes. */
  older: boolean;
}

/** Turns per request, and the maximum number of turns that are listed. */
const PAGE = 10;
const MAX_TURNS = 100;

/** Reviews holds the changes of files by tools: those of the newest turns, and those of the turn whose review is open. */
export class Reviews {
  /** The review that is open, null for none. */
  readonly open = signal<{ turnId: string; listed: Fetched<Listed> } | null>(null);
  readonly newest: Fetched<Listed>;
  private wanted = PAGE;

  constructor(
    private readonly list: (params: Omit<List["params"], "sessionId">) => Promise<List["result"]>,
    private readonly reachable: () => boolean,
  ) {
    this.newest = new Fetched(() => this.fetchNewest(), reachable);
  }

  /** show opens the review of a turn. */
  show(turnId: string): void {
    const fetch = async (): Promise<Listed> => listed(await this.list({ turnId }));
    this.open.value = { turnId, listed: new Fetched(fetch, this.reachable) };
  }

  close(): void {
    this.open.value = null;
  }

  /** wantOlder lists older turns too. */
  wantOlder(): void {
    this.wanted += PAGE;
    this.newest.changed();
  }

  get values(): Fetched<Listed>[] {
    const open = this.open.peek();
    return open ? [this.newest, open.listed] : [this.newest];
  }

  /** changed fetches what is shown again. */
  changed(): void {
    for (const value of this.values) value.changed();
  }

  private async fetchNewest(): Promise<Listed> {
    const all: TurnChange[] = [];
    let [omitted, turns] = [0, 0];
    let cursor: string | undefined;
    do {
      const page: List["result"] = await this.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...page.changes);
      omitted += page.omitted ?? 0;
      cursor = page.nextCursor;
      turns += PAGE;
    } while (cursor !== undefined && turns < Math.min(this.wanted, MAX_TURNS));
    return { changes: all, omitted, older: cursor !== undefined && turns < MAX_TURNS };
  }
}

const listed = ({ changes, omitted = 0 }: List["result"]): Listed => ({ changes, omitted, older: false });
