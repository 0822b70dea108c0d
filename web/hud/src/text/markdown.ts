import DOMPurify from "dompurify";
import { Marked } from "marked";

/** Renders raw HTML as text and pictures as links, so that nothing is loaded from other sites. */
const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    html({ text }) {
      return escape(text);
    },
    image({ href, text }) {
      return `<a href="${escape(href)}">${escape(text || href)}</a>`;
    },
    code({ text, lang = "" }) {
      return `<pre><code data-lang="${escape(/^\S*/.exec(lang)?.[0] ?? "")}">${escape(text)}\n</code></pre>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

const allowed = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "start", "align"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  RETURN_DOM_FRAGMENT: true as const,
};

/** render returns a Markdown text as elements. They never contain a script, style, form or picture. */
export function render(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false });
  const fragment = DOMPurify.sanitize(html, allowed);
  for (const link of fragment.querySelectorAll("a")) {
    if (!link.hasAttribute("href")) {
      link.replaceWith(...link.childNodes);
      continue;
    }
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const block of fragment.children) {
    if (block instanceof HTMLElement && !(block instanceof HTMLPreElement)) block.dir = "auto";
  }
  for (const table of fragment.querySelectorAll("table")) scroll(table);
  return fragment;
}

/** scroll puts a table into a box in which it scrolls if it is wide, also by keyboard. */
function scroll(table: HTMLTableElement): void {
  const box = document.createElement("div");
  box.className = "prose-table";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Table");
  table.replaceWith(box);
  box.append(table);
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
