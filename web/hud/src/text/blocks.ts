/**
 * Markdown is shown in pieces: a piece that is finished never changes again, so that while an answer streams only the
 * last one is rendered anew, and so that of a long answer only the pieces in sight are in the page.
 */
export interface Piece {
  kind: "markdown" | "code";
  text: string;
  /** Language of a code piece, "" where none was named. */
  lang: string;
  /** A code piece that goes on where the one before it was cut. */
  continued: boolean;
}

/** Lines of code in one piece, and characters of text, at most: both bound what one delta can cost. */
const MAX_CODE_LINES = 120;
const MAX_PIECE_CHARS = 6000;

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const listItem = /^\s{0,3}([-*+]|\d{1,9}[.)])\s/;

/** Splitter takes a text apart as it grows. Work is in proportion to what is added, not to what was there. */
export class Splitter {
  /** Pieces that are finished. */
  readonly done: Piece[] = [];
  private lines: string[] = []; // of the piece that is open
  private chars = 0; // in lines
  private rest = ""; // of a line whose end has not come
  private open: { mark: string; lang: string } | null = null; // the code fence that is open
  private continued = false;
  private blank = false; // the piece ended with an empty line, unless the next line goes on with a list
  private inList = false;

  add(text: string): void {
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      const line = this.rest + text.slice(from, at);
      this.rest = "";
      from = at + 1;
      this.line(line);
    }
    this.rest += text.slice(from);
    if (this.chars + this.rest.length > MAX_PIECE_CHARS) this.breakLongLine();
  }

  /** Nothing more will come: the last line is one, although its end is missing. */
  finish(): void {
    const line = this.rest;
    this.rest = "";
    if (line !== "") this.line(line);
  }

  /** The piece that is still open, as far as it goes; null where nothing is. */
  tail(): Piece | null {
    const rest = this.closes(this.rest) ? [] : [this.rest];
    const text = [...this.lines, ...rest].join("\n");
    if (this.open) {
      if (this.continued && text === "") return null;
      return { kind: "code", text, lang: this.open.lang, continued: this.continued };
    }
    return text.trim() === "" ? null : { kind: "markdown", text, lang: "", continued: false };
  }

  private line(line: string): void {
    if (this.open) {
      this.codeLine(line);
      return;
    }
    const opening = fence.exec(line);
    if (opening && !(this.inList && line.startsWith(" "))) {
      this.flush();
      this.open = { mark: opening[1] ?? "```", lang: opening[2] ?? "" };
      this.continued = false;
      return;
    }
    if (line.trim() === "") {
      this.blank = this.lines.length > 0;
      if (this.blank) this.push(line);
      return;
    }
    const goesOn = this.inList && (listItem.test(line) || /^\s{2,}/.test(line));
    if (this.blank && !goesOn) this.flush();
    this.blank = false;
    if (this.lines.length === 0) this.inList = listItem.test(line);
    this.push(line);
    if (this.chars > MAX_PIECE_CHARS) this.flush();
  }

  private codeLine(line: string): void {
    if (this.closes(line)) {
      this.flush();
      this.open = null;
      return;
    }
    this.push(line);
    if (this.lines.length >= MAX_CODE_LINES || this.chars > MAX_PIECE_CHARS) {
      this.flush();
      this.continued = true;
    }
  }

  /** Reports whether a line ends the code that is open. */
  private closes(line: string): boolean {
    if (!this.open) return false;
    const { mark } = this.open;
    const trimmed = line.trim();
    return trimmed.length >= mark.length && trimmed === mark.charAt(0).repeat(trimmed.length);
  }

  private push(line: string): void {
    this.lines.push(line);
    this.chars += line.length + 1;
  }

  private flush(): void {
    const text = this.lines.join("\n");
    this.lines = [];
    this.chars = 0;
    this.blank = false;
    if (this.open) {
      if (text !== "" || !this.continued) this.done.push({ kind: "code", text, lang: this.open.lang, continued: this.continued });
    } else if (text.trim() !== "") {
      this.done.push({ kind: "markdown", text, lang: "", continued: false });
    }
    this.inList = false;
  }

  /** A line without end becomes pieces of its own at the last space. */
  private breakLongLine(): void {
    const space = this.rest.lastIndexOf(" ");
    const at = space > MAX_PIECE_CHARS / 2 ? space + 1 : this.rest.length;
    this.push(this.rest.slice(0, at));
    this.rest = this.rest.slice(at);
    this.flush();
    if (this.open) this.continued = true;
  }
}

/** The pieces of a text that is whole. */
export function pieces(text: string): Piece[] {
  const splitter = new Splitter();
  splitter.add(text);
  splitter.finish();
  const tail = splitter.tail();
  return tail ? [...splitter.done, tail] : splitter.done;
}
