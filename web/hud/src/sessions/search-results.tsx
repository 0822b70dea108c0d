import { sessionAddress } from "../routes.ts";
import { behind, hits, more, problem, query, searching, searchMore, snippetParts } from "../store/search.ts";
import { sessions, titleOf } from "../store/sessions.ts";
import { plural, when } from "../text/format.ts";
import { Empty, Progress } from "../ui/controls.tsx";

const roles: Record<string, string> = { user: "You", assistant: "Reply", tool: "Tool" };

/** The search results. Each links to its message. */
export function SearchResults() {
  if (problem.value !== "") return <div class="window hits"><Empty title="Search failed"><p>{problem.value}</p></Empty></div>;
  if (hits.value.length === 0) {
    return (
      <div class="window hits">
        {searching.value ? <Progress value={undefined} label="Searching" /> : <Empty title={`No results for “${query.value.trim()}”`}><p>The search matches words, and beginnings of words, in messages of all sessions.</p>{behind.value > 0 && <p>{unsearched()}</p>}</Empty>}
      </div>
    );
  }
  return (
    <div class="window hits">
      <p class="sidebar-note" role="status">{plural(hits.value.length, "message")}{more.value === undefined ? "" : " and more"}{behind.value > 0 && `; ${unsearched()}`}</p>
      <div role="list" aria-label="Search results">{hits.value.map((hit) => {
        const session = sessions.value.get(hit.sessionId);
        return (
          <div role="listitem" key={hit.messageId}>
            <a class="hit" href={sessionAddress(hit.sessionId, "", hit.seq)}>
              <span class="hit-head">
                <span class="hit-title" dir="auto">{session ? titleOf(session.info) : hit.sessionId}</span>
                <time dateTime={hit.at}>{when(hit.at)}</time>
              </span>
              <span class="hit-text" dir="auto">
                <span class="quiet">{roles[hit.role] ?? hit.role}: </span>
                {hit.copies !== undefined && <span class="quiet" data-copies={hit.copies}>({plural(hit.copies, "copy", "copies")}) </span>}
                {snippetParts(hit).map((s, i) => (s.hit ? <mark key={i}>{s.text}</mark> : s.text))}
              </span>
            </a>
          </div>
        );
      })}</div>
      {more.value !== undefined && <button type="button" class="button wide" disabled={searching.value} onClick={searchMore}>Show more results</button>}
    </div>
  );
}

/** unsearched says how many messages the results do not include yet. */
function unsearched(): string {
  return `${plural(behind.value, "new message")} not indexed yet`;
}
