// Further events beside the first one: chips, and a picker of those that the server has.
import type { Row } from "../api.ts";
import { viewNamed } from "../api.ts";
import { valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped } from "../format.ts";
import { address, go } from "../state.ts";
import { EventSelect, useEvents } from "./filters.tsx";

export const BESIDE = "compare_event";

// The first event, and those beside it.
export function EventPickers() {
  const events = useEvents();
  return (
    <>
      <EventSelect events={events} />
      <Beside events={events} />
    </>
  );
}

function Beside({ events }: { events: readonly Row[] }) {
  const parameter = viewNamed("top")?.parameters.find(({ name }) => name === BESIDE);
  if (parameter === undefined) return null;
  const chosen = valuesOf(address.value, BESIDE);
  const first = valueOf(address.value, "event");
  const others = events
    .map(({ value }) => String(value))
    .filter((name) => name !== first && !chosen.includes(name));
  // Rows of several events have no filter of their own.
  const set = (names: readonly string[]): void =>
    go(
      withParameters(
        { ...address.value, sized: "", sort: "" },
        names.length === 0 ? { [BESIDE]: names } : { [BESIDE]: names, only: [] },
      ),
    );
  return (
    <div class="field beside" title={parameter.help}>
      <span id="beside">Beside it</span>
      <ul class="chips" aria-labelledby="beside">
        {chosen.map((name) => (
          <li key={name} class="chip by">
            <span class="text">{clipped(name, 40)}</span>
            <button
              type="button"
              aria-label={`Do not show ${clipped(name, 40)} beside it`}
              onClick={() => set(chosen.filter((other) => other !== name))}
            >
              {"\u00d7"}
            </button>
          </li>
        ))}
        <li class="more">
          <select
            aria-label="Add an event beside it"
            value=""
            onChange={(event) => {
              const name = event.currentTarget.value;
              event.currentTarget.value = "";
              if (name !== "") set([...chosen, name]);
            }}
          >
            <option value="">+ event</option>
            {others.map((name) => (
              <option key={name} value={name}>
                {clipped(name, 60)}
              </option>
            ))}
          </select>
        </li>
      </ul>
    </div>
  );
}
