// What would tell the rest of a diff's changes from chance.
import type { Table } from "../api.ts";
import { undecidedOf } from "../decidable.ts";
import { change, clipped, margin } from "../format.ts";
import { address, linkTo } from "../state.ts";

const MOST = 5;
const BY_PART = /^(base|new|self|total)_/;

const timesText = (times: number): string => `${times < 10 ? times.toFixed(1) : Math.round(times)}\u00d7`;

export function Undecided({ table }: { table: Table }) {
  const { rows, columns } = table;
  const dimensions = columns.filter(({ name, unit }) => unit === "" && !BY_PART.test(name)).map(({ name }) => name);
  const unit = columns.find(({ name }) => /^self_(share|rate)_change$/.test(name))?.unit ?? "";
  const found = undecidedOf(
    rows,
    (row) => dimensions.map((name) => String(row[name] ?? "") || "(none)").join(" \u00b7 "),
    MOST,
  );
  const unknown = rows.filter((row) => row["self_verdict"] === "cannot tell").length;
  if (found.length === 0 && unknown === 0) return null;
  return (
    <section class="undecided" aria-labelledby="undecided">
      <h3 id="undecided">What would decide the rest</h3>
      {found.length === 0 ? null : (
        <>
          <p class="hint">
            The largest changes that may be chance, and about how many times as many machines, or as long a time,
            would tell if they are as large as they look:
          </p>
          <ul>
            {found.map((one) => (
              <li key={one.name}>
                <span class="name" title={clipped(one.name, 2000)}>
                  {clipped(one.name, 200)}
                </span>
                <span class="digits">
                  {change(one.change, unit)} <span class="margin">{margin(one.half, unit)}</span>
                </span>
                <b class="digits">{timesText(one.times)}</b>
              </li>
            ))}
          </ul>
        </>
      )}
      {unknown === 0 ? null : (
        <p class="hint">
          "Cannot tell": too few machines or samples were measured to tell chance at all. Choose a longer time, or
          measure more machines;{" "}
          <a {...linkTo({ ...address.value, page: "views", view: "stability", parameters: new Map() })}>
            stability
          </a>{" "}
          says how many that takes.
        </p>
      )}
    </section>
  );
}
