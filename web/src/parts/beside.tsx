// Further events beside the first one: chips, and a picker of those that the server has.
import type { Table } from "../api.ts";
import { viewNamed } from "../api.ts";
import { valueOf, valuesOf, withParameters } from "../address.ts";
import { clipped } from "../format.ts";
import { useAnswer } from "../hooks.ts";
import { address, go } from "../state.ts";

export const BESIDE = "compare_event";

export function Beside() {
  const parameter = viewNamed("top")?.parameters.find(({ name }) => name === BESIDE);
  const times = (["since", "until"] as const)
    .map((name): [string, string] => [name, valueOf(address.value, name)])
    .filter(([, value]) => value !== "");
  const { answer } = useAnswer<Table>("values", [["of", "event"], ...times, ["limit", "200"]]);
  if (parameter === undefined) return null;
  const chosen = valuesOf(address.value, BESIDE);
  const first = valueOf(address.value, "event");
  const others = (answer.value?.rows ?? [])
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
