// The time that a question is about.
import { useState } from "preact/hooks";
import { valueOf, withParameters } from "../address.ts";
import { clock } from "../format.ts";
import { address, go } from "../state.ts";
import { timeText } from "../times.ts";

const RANGES: readonly [string, string][] = [
  ["15m", "15 min"],
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["1d", "1 day"],
  ["7d", "7 days"],
  ["", "all"],
];

function set(since: string, until: string): void {
  go(withParameters(address.value, { since, until }));
}

// For <input type="datetime-local">, which is of the reader's own clock.
function localText(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function timeOf(text: string): number | undefined {
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

export function describedRange(since: string, until: string, now: number): string {
  const known = RANGES.find(([value]) => value === since);
  if (known !== undefined && until === "") return since === "" ? "all times" : `last ${known[1]}`;
  const at = (text: string): string => {
    const time = timeOf(text);
    return time === undefined ? `${text} ago` : clock(time, now);
  };
  if (since === "") return `up to ${at(until)}`;
  return until === "" ? `since ${at(since)}` : `${at(since)} to ${at(until)}`;
}

export function TimeRange() {
  const [isOpen, setOpen] = useState(false);
  const since = valueOf(address.value, "since");
  const until = valueOf(address.value, "until");
  const isCustom = until !== "" || !RANGES.some(([value]) => value === since);
  const now = Date.now();
  return (
    <div class="field time-range">
      <span id="time-range">Time</span>
      <div class="segments" role="group" aria-labelledby="time-range">
        {RANGES.map(([value, text]) => (
          <button
            key={value}
            type="button"
            aria-pressed={!isCustom && value === since}
            onClick={() => set(value, "")}
          >
            {text}
          </button>
        ))}
        <button type="button" aria-pressed={isCustom} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isCustom ? describedRange(since, until, now) : "from \u2026 to"}
        </button>
      </div>
      {isOpen ? (
        <form
          class="popover"
          onSubmit={(event) => {
            event.preventDefault();
            const given = new FormData(event.currentTarget);
            const utc = (name: string): string => {
              const time = timeOf(String(given.get(name) ?? ""));
              return time === undefined ? "" : timeText(time);
            };
            set(utc("from"), utc("to"));
            setOpen(false);
          }}
        >
          <label>
            From
            <input name="from" type="datetime-local" value={localText(timeOf(since) ?? now - 3_600_000)} />
          </label>
          <label>
            To
            <input name="to" type="datetime-local" value={localText(timeOf(until) ?? now)} />
          </label>
          <p class="hint">Times of this computer. They are UTC in the address.</p>
          <button type="submit" class="primary">
            Apply
          </button>
        </form>
      ) : null}
    </div>
  );
}
