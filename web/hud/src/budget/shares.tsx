import type { Budget } from "@strata/client";
import { percent } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";

/** The shares of a profile with their limits and use; nothing for a profile without shares. Only their sum is enforced. */
export function Shares({ budget }: { budget: Budget }) {
  const shares = budget.shares;
  if (!shares || shares.length === 0) return null;
  return (
    <section class="card" aria-labelledby="shares">
      <h2 id="shares">Profile shares</h2>
      <table class="numbers" aria-labelledby="shares">
        <thead><tr><th scope="col">Share</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Limit</th><th scope="col" class="number">Used</th></tr></thead>
        <tbody>
          {shares.map((s) => (
            <tr key={s.name} data-share={s.name}>
              <th scope="row">{s.name}</th>
              <td class="number"><Tokens n={s.used} /></td>
              <td class="number"><Tokens n={s.share} /></td>
              <td class={s.used > s.share ? "number bad" : "number"}>{s.used > s.share ? <>over by <Tokens n={s.used - s.share} /></> : percent(s.used, s.share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">Shares decide what is trimmed when the window is full. Only their sum is enforced.</p>
    </section>
  );
}
