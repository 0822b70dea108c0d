import "../app.tsx"; // the build then keeps the first load in one file
import type { FoundSession, SearchHit } from "@strata/client";
import type { ComponentChildren } from "preact";
import { sessionAddress } from "../routes.ts";
import { behind, found, hits, more, moreSessions, problem, query, scope, searching, searchMore, searchMoreSessions, total } from "../store/search.ts";
import { count, plural, when } from "../text/format.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { markedParts, snippetParts, type SnippetPart } from "./snippets.ts";

const roles: Record<string, string> = { user: "You", assistant: "Reply", tool: "Tool" };

/** The search results: sessions, then messages. Each links to what was found. */
export function SearchResults() {
  if (problem.value !== "") return <div class="window hits"><Empty title="Search failed"><p>{problem.value}</p></Empty></div>;
  if (hits.value.length + found.value.length === 0) return <div class="window hits">{searching.value ? <Progress value={undefined} label="Searching" /> : <Nothing />}</div>;
  return (
    <div class="window hits" role="region" aria-label="Search results">
      <p class="hidden" role="status">{plural(total.value, "session")}, {messages()}</p>
      {found.value.length > 0 && (
        <Group title="Sessions" many={count(total.value)}>
          {found.value.map((session) => <li key={session.sessionId}><SessionHit session={session} /></li>)}
          {moreSessions.value !== undefined && <More label={`Show ${plural(total.value - found.value.length, "more session", "more sessions")}`} onClick={searchMoreSessions} />}
        </Group>
      )}
      {behind.value > 0 && <p class="sidebar-note">{unsearched()}</p>}
      {hits.value.length > 0 && (
        <Group title="Messages" many={count(hits.value.length) + (more.value === undefined ? "" : "+")}>
          {hits.value.map((hit) => <li key={hit.sessionId + hit.messageId}><MessageHit hit={hit} /></li>)}
          {more.value !== undefined && <More label="Show more messages" onClick={searchMore} />}
        </Group>
      )}
    </div>
  );
}

const messages = (): string => plural(hits.value.length, "message") + (more.value === undefined ? "" : " and more");

function Nothing() {
  return (
    <Empty title={`No results for “${query.value.trim()}”`}>
      <p>The search matches {scope.value.kind === "session" ? "" : "parts of titles and folders, and "}words and beginnings of words in messages.</p>
      {behind.value > 0 && <p>{unsearched()}</p>}
    </Empty>
  );
}

/** unsearched says how many messages the results do not include yet. */
const unsearched = (): string => `${plural(behind.value, "new message")} not indexed yet`;

function Group({ title, many, children }: { title: string; many: string; children: ComponentChildren }) {
  return (
    <section aria-label={title}>
      <h2 class="hits-head">{title} <span class="quiet">{many}</span></h2>
      <ul>{children}</ul>
    </section>
  );
}

function More({ label, onClick }: { label: string; onClick: () => void }) {
  return <li><button type="button" class="button wide" disabled={searching.value} onClick={onClick}>{label}</button></li>;
}

const Marked = ({ parts }: { parts: readonly SnippetPart[] }) => <>{parts.map((s, i) => (s.hit ? <mark key={i}>{s.text}</mark> : s.text))}</>;

function SessionHit({ session }: { session: FoundSession }) {
  return (
    <a class="hit" href={sessionAddress(session.sessionId)} data-session={session.sessionId}>
      <span class="hit-head">
        <span class="hit-title" dir="auto">{session.title === "" ? "Untitled session" : <Marked parts={markedParts(session.title, session.titleMarks)} />}</span>
        <time dateTime={session.updatedAt}>{when(session.updatedAt)}</time>
      </span>
      <span class="hit-folder" title={session.cwd}><bdi><Marked parts={markedParts(session.cwd, session.cwdMarks)} /></bdi></span>
    </a>
  );
}

function MessageHit({ hit }: { hit: SearchHit }) {
  return (
    <a class="hit" href={sessionAddress(hit.sessionId, "", hit.seq)}>
      <span class="hit-head">
        <span class="hit-title" dir="auto">{hit.title || "Untitled session"}</span>
        <time dateTime={hit.at}>{when(hit.at)}</time>
      </span>
      <span class="hit-text" dir="auto">
        <span class="quiet">{roles[hit.role] ?? hit.role}: </span>
        {hit.copies !== undefined && <span class="quiet" data-copies={hit.copies}>({plural(hit.copies, "copy", "copies")}) </span>}
        <Marked parts={snippetParts(hit)} />
      </span>
    </a>
  );
}
