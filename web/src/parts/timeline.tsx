// The largest rows over time.
import { useRef, useState } from "preact/hooks";
import { withParameters } from "../address.ts";
import type { Table } from "../api.ts";
import { clipped, clock, quantity, share } from "../format.ts";
import { useSize } from "../hooks.ts";
import type { Line } from "../series.ts";
import { isRange, pointsOf, ticksUpTo } from "../series.ts";
import { address, go, palette } from "../state.ts";
import { timeText } from "../times.ts";

const LOW = 132;
const HIGH = 320;
const LEFT = 84;
const BOTTOM = 20;
const TOP = 8;
const MOST_TOLD = 10; // lines in the text for those who do not see the plot

// hasBrush: a drag makes its times those of the page. isLarge: higher, with the intervals of the values.
export function Timeline({
  table,
  hasBrush = false,
  isLarge = false,
}: {
  table: Table;
  hasBrush?: boolean;
  isLarge?: boolean;
}) {
  const [measure, { width }] = useSize<HTMLElement>();
  const [brush, setBrush] = useState<[number, number] | undefined>(undefined);
  const [at, setAt] = useState<number | undefined>(undefined);
  const begun = useRef<number | undefined>(undefined);
  const { lines, times, step_ms, largest, highest, unit } = pointsOf(table);
  const height = isLarge ? HIGH : LOW;
  const top = isLarge ? highest : largest;
  if (times.length === 0) return null;
  const from = times[0]!;
  const to = times[times.length - 1]! + step_ms;
  const inner = Math.max(1, width - LEFT - 8);
  const xOf = (time: number): number => LEFT + ((time - from) / (to - from)) * inner;
  const yOf = (value: number): number => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  const timeAt = (x: number): number => from + (Math.max(0, Math.min(inner, x - LEFT)) / inner) * (to - from);
  const endBrush = (): void => {
    begun.current = undefined;
    setBrush(undefined);
  };
  const local = (event: PointerEvent): number =>
    event.clientX - (event.currentTarget as SVGElement).getBoundingClientRect().left;
  const text = (value: number): string => (unit === "share" ? share(value) : quantity(value, unit));
  const strokeOf = (place: number): string => palette.value.strokes[place % palette.value.strokes.length]!;
  const now = Date.now();
  const ticks = ticksUpTo(top, isLarge ? 6 : 3);
  const nearest =
    at === undefined
      ? undefined
      : times.reduce((best, time) =>
          Math.abs(time + step_ms / 2 - at) < Math.abs(best + step_ms / 2 - at) ? time : best,
        );
  // Side by side, so that those of several lines can be told apart.
  const whiskersOf = ({ intervals }: Line, place: number): string =>
    times
      .map((time, i) => {
        const interval = intervals[i];
        if (interval === undefined) return "";
        const x = xOf(time + step_ms / 2) + 2 * (place - (lines.length - 1) / 2);
        return `M${x.toFixed(1)} ${yOf(Math.max(0, interval[0])).toFixed(1)}V${yOf(interval[1]).toFixed(1)}`;
      })
      .join("");
  const summary = lines
    .slice(0, MOST_TOLD)
    .map(({ name, values }) => `${clipped(name, 60)}: ${text(values[values.length - 1] ?? 0)}`)
    .join("; ");
  return (
    <figure class="timeline">
      <div class="plot" ref={measure}>
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`Over time, newest values: ${summary}`}
          onPointerDown={(event) => {
            if (!hasBrush) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            begun.current = timeAt(local(event));
          }}
          onPointerMove={(event) => {
            const time = timeAt(local(event));
            setAt(time);
            if (begun.current !== undefined)
              setBrush([Math.min(begun.current, time), Math.max(begun.current, time)]);
          }}
          onPointerUp={() => {
            if (brush !== undefined && isRange(brush[1] - brush[0], to - from))
              go(withParameters(address.value, { since: timeText(brush[0]), until: timeText(brush[1]) }));
            endBrush();
          }}
          onPointerCancel={endBrush}
          onPointerLeave={() => setAt(undefined)}
        >
          {ticks.map((value) => (
            <g key={value} class="tick">
              <line x1={LEFT} x2={LEFT + inner} y1={yOf(value)} y2={yOf(value)} />
              <text x={LEFT - 6} y={yOf(value)} text-anchor="end" dominant-baseline="middle">
                {text(value)}
              </text>
            </g>
          ))}
          {[0, 0.5, 1].map((part) => (
            <text
              key={part}
              class="time"
              x={xOf(from + part * (to - from))}
              y={height - 5}
              text-anchor={part === 0 ? "start" : part === 1 ? "end" : "middle"}
            >
              {clock(from + part * (to - from), now)}
            </text>
          ))}
          {lines.map((line, place) => {
            const path = times
              .map((time, i) =>
                line.values[i] === undefined
                  ? ""
                  : `${i === 0 || line.values[i - 1] === undefined ? "M" : "L"}${xOf(time + step_ms / 2).toFixed(1)} ${yOf(line.values[i]!).toFixed(1)}`,
              )
              .join("");
            return (
              <g key={line.name} class="line" style={{ color: strokeOf(place) }}>
                <path d={path} />
                {isLarge ? <path class="intervals" d={whiskersOf(line, place)} /> : null}
                {times.length <= 60
                  ? times.map((time, i) =>
                      line.values[i] === undefined ? null : (
                        <circle key={time} cx={xOf(time + step_ms / 2)} cy={yOf(line.values[i]!)} r={2.5} />
                      ),
                    )
                  : null}
              </g>
            );
          })}
          {nearest === undefined ? null : (
            <line
              class="cursor"
              x1={xOf(nearest + step_ms / 2)}
              x2={xOf(nearest + step_ms / 2)}
              y1={TOP}
              y2={height - BOTTOM}
            />
          )}
          {brush === undefined ? null : (
            <rect
              class="brush"
              x={xOf(brush[0])}
              width={xOf(brush[1]) - xOf(brush[0])}
              y={TOP}
              height={height - TOP - BOTTOM}
            />
          )}
        </svg>
      </div>
      <figcaption>
        <ul>
          {lines.map((line, place) => {
            const i = nearest === undefined ? times.length - 1 : times.indexOf(nearest);
            return (
              <li key={line.name}>
                <span class="swatch" style={{ background: strokeOf(place) }} aria-hidden="true" />
                <span class="name">{clipped(line.name, 60)}</span>{" "}
                <span class="digits">{line.values[i] === undefined ? "" : text(line.values[i]!)}</span>
              </li>
            );
          })}
          <li class="at">
            {nearest !== undefined ? clock(nearest, now) : hasBrush ? "drag to choose a time range" : ""}
          </li>
        </ul>
      </figcaption>
    </figure>
  );
}
