// An answer without rows: why, and what to change.
import { withParameters } from "../address.ts";
import type { Coverage } from "../api.ts";
import { clipped, plural } from "../format.ts";
import { address, linkTo } from "../state.ts";

export function Empty({ coverage, notes }: { coverage: Coverage; notes: readonly string[] }) {
  const why = notes.find((note) => note.startsWith("no results"));
  const { parameters } = address.value;
  return (
    <div class="message empty">
      <strong>
        {why === undefined ? "No samples match." : clipped(why.replace(/^no results: /, ""), 300)}
      </strong>
      <p>{plural(coverage.machines_live, "machine")} known to this server.</p>
      <p class="actions">
        {parameters.has("since") || parameters.has("until") ? (
          <a {...linkTo(withParameters(address.value, { since: undefined, until: undefined }))}>
            Show all times
          </a>
        ) : null}
        {["where", "focus", "ignore", "hide"].some((name) => parameters.has(name)) ? (
          <a {...linkTo(withParameters(address.value, { where: [], focus: [], ignore: [], hide: [] }))}>
            Remove all filters
          </a>
        ) : null}
        {parameters.has("event") ? (
          <a {...linkTo(withParameters(address.value, { event: undefined }))}>Show the usual event</a>
        ) : null}
      </p>
    </div>
  );
}
