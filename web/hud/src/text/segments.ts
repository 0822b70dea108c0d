/**
 * Segment is a rendered part of a reply. A finished segment never changes, so only the last one is rendered again while a
 * reply streams, and only the visible segments of a long reply are in the page.
 */
export interface Segment {
  kind: "markdown" | "code";
  text: string;
  /** Language of a code segment, "" if not given. */
  lang: string;
  /** The rest of the line that opens a code segment, after its fence, with the language. */
  info: string;
  /** Continues the code of the previous segment. */
  continued: boolean;
}

/** Maximum lines of code and characters of text in a segment. Both bound the work per delta. */
const MAX_CODE_LINES = 120;
const MAX_SEGMENT_CHARS = 6000;

const fence = /^ {0,3}(`{3,}|~{3,})\s*(([^\s`]*)[^`]*)$/;
const listItem = /^\s{0,3}([-*+]|\d{1,9}[.)])\s/;

/** Splitter divides a growing text into segments. The work is proportional to the added text. */
export class Splitter {
  /** Finished segments. */
  readonly done: Segment[] = [];
  private lines: string[] = []; // of the open segment
  private chars = 0; // in lines
  private rest = ""; // the last, unfinished line
  private open: { mark: string; lang: string; info: string } | null = null; // the open code fence
  private continued = false;
  private blank = false; // the segment ends at this empty line, unless the next line continues a list
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
    if (this.chars + this.rest.length > MAX_SEGMENT_CHARS) this.breakLongLine();
  }

  /** finish ends the text. The last line counts as complete. */
  finish(): void {
    const line = this.rest;
    this.rest = "";
    if (line !== "") this.line(line);
  }

  /** end ends the text and its open segment. */
  end(): void {
    this.finish();
    const tail = this.tail();
    this.lines = [];
    this.chars = 0;
    this.open = null;
    if (tail) this.done.push(tail);
  }

  /** tail returns the open segment so far, null if it is empty. */
  tail(): Segment | null {
    const rest = this.closes(this.rest) ? [] : [this.rest];
    const text = [...this.lines, ...rest].join("\n");
    if (this.open) {
      if (this.continued && text === "") return null;
      return { kind: "code", text, lang: this.open.lang, info: this.open.info, continued: this.continued };
    }
    return text.trim() === "" ? null : { kind: "markdown", text, lang: "", info: "", continued: false };
  }

  private line(line: string): void {
    if (this.open) {
      this.codeLine(line);
      return;
    }
    const opening = fence.exec(line);
    if (opening && !(this.inList && line.startsWith(" "))) {
      this.flush();
      this.open = { mark: opening[1] ?? "```", lang: opening[3] ?? "", info: opening[2]?.trimEnd() ?? "" };
      this.continued = false;
      return;
    }
    if (line.trim() === "") {
      this.blank = this.lines.length > 0;
      if (this.blank) this.push(line);
      return;
    }
    const continues = this.inList && (listItem.test(line) || /^\s{2,}/.test(line));
    if (this.blank && !continues) this.flush();
    this.blank = false;
    if (this.lines.length === 0) this.inList = listItem.test(line);
    this.push(line);
    if (this.chars > MAX_SEGMENT_CHARS) this.flush();
  }

  private codeLine(line: string): void {
    if (this.closes(line)) {
      this.flush();
      this.open = null;
      return;
    }
    this.push(line);
    if (this.lines.length >= MAX_CODE_LINES || this.chars > MAX_SEGMENT_CHARS) {
      this.flush();
      this.continued = true;
    }
  }

  /** closes reports whether a line ends the open code fence. */
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
      if (text !== "" || !this.continued) this.done.push({ kind: "code", text, lang: this.open.lang, info: this.open.info, continued: this.continued });
    } else if (text.trim() !== "") {
      this.done.push({ kind: "markdown", text, lang: "", info: "", continued: false });
    }
    this.inList = false;
  }

  /** breakLongLine ends the segment inside a long line, at the last space. */
  private breakLongLine(): void {
    const space = this.rest.lastIndexOf(" ");
    const at = space > MAX_SEGMENT_CHARS / 2 ? space + 1 : this.rest.length;
    this.push(this.rest.slice(0, at));
    this.rest = this.rest.slice(at);
    this.flush();
    if (this.open) this.continued = true;
  }
}

/** segments returns the segments of a complete text. */
export function segments(text: string): Segment[] {
  const splitter = new Splitter();
  splitter.add(text);
  splitter.end();
  return splitter.done;
}
