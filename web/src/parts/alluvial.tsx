// Today's placement on the left, the proposed one on the right, as high as they take capacity; bands are jobs that move.
import { clipped, quantity } from "../format.ts";
import type { Band, Picture } from "../flows.ts";
import { useSize } from "../hooks.ts";

const COLUMN = 16;
const TOP = 26;

function says(band: Band, unit: string): string {
  const certain = { yes: "certain", no: "not certain", unknown: "margin unknown" }[band.certain] ?? "";
  const takes = band.isSavingKnown
    ? `${quantity(band.before, unit)} \u2192 ${quantity(band.after, unit)}`
    : `${quantity(band.after, unit)} in the plan, what it takes today is unknown`;
  return band.job === ""
    ? `${clipped(band.from, 60)}: ${quantity(band.before, unit)} stay`
    : `${clipped(band.job, 60)}: ${clipped(band.from, 40)} \u2192 ${clipped(band.to, 40)}, ${takes} (${certain})`;
}

export function Alluvial({ picture, unit, label }: { picture: Picture; unit: string; label: string }) {
  const [measure, { width }] = useSize<HTMLDivElement>();
  const isNarrow = width < 560;
  const height = isNarrow ? 300 : 360;
  const side = isNarrow ? 0 : Math.min(190, width * 0.2);
  const scale = (height - TOP - 8) / (picture.height || 1);
  const left = side;
  const right = Math.max(left + 60, width - side - COLUMN);
  const yOf = (value: number): number => TOP + value * scale;
  const bandPath = (band: Band): string => {
    const [a, b] = [left + COLUMN, right];
    const middle = (a + b) / 2;
    const [y0, y1] = [yOf(band.y0), yOf(band.y1)];
    const [h0, h1] = [Math.max(1, band.before * scale), Math.max(1, band.after * scale)];
    return `M${a} ${y0}C${middle} ${y0} ${middle} ${y1} ${b} ${y1}V${y1 + h1}C${middle} ${y1 + h1} ${middle} ${y0 + h0} ${a} ${y0 + h0}Z`;
  };
  const tone = (band: Band): string =>
    band.job === "" ? "stays" : band.certain === "yes" ? "certain" : "uncertain";
  return (
    <div class="alluvial" ref={measure}>
      {width === 0 ? (
        <div style={{ height: `${height}px` }} />
      ) : (
        <svg width={width} height={height} role="img" aria-label={label}>
          <defs>
            <pattern
              id="uncertain"
              width="7"
              height="7"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect class="ground" width="7" height="7" />
              <line class="hatch" x1="0" y1="0" x2="0" y2="7" />
            </pattern>
          </defs>
          <text class="head" x={isNarrow ? 0 : left} y={14} text-anchor="start">
            today
          </text>
          <text class="head" x={isNarrow ? width : right + COLUMN} y={14} text-anchor="end">
            proposed
          </text>
          {[...picture.bands]
            .sort((a, b) => Number(a.job !== "") - Number(b.job !== ""))
            .map((band) => (
              <path
                key={`${band.job} ${band.from} ${band.to}`}
                class={`band ${tone(band)}`}
                d={bandPath(band)}
              >
                <title>{says(band, unit)}</title>
              </path>
            ))}
          {picture.columns.map(({ platform, today, planned, y }) => (
            <g key={platform} class="column">
              {today - planned > 1e-6 * today ? (
                <rect
                  class="free"
                  x={right + 0.5}
                  y={yOf(y + planned) + 0.5}
                  width={COLUMN - 1}
                  height={Math.max(0, (today - planned) * scale - 1)}
                >
                  <title>{`${clipped(platform, 60)}: ${quantity(today - planned, unit)} free`}</title>
                </rect>
              ) : null}
              <rect x={left} y={yOf(y)} width={COLUMN} height={Math.max(1, today * scale)} />
              <rect x={right} y={yOf(y)} width={COLUMN} height={Math.max(1, planned * scale)} />
              <Name
                x={isNarrow ? COLUMN + 6 : left - 10}
                y={yOf(y) + (isNarrow ? 14 : (today * scale) / 2)}
                anchor={isNarrow ? "start" : "end"}
                name={platform}
                text={quantity(today, unit)}
                isOneLine={isNarrow}
              />
              <Name
                x={isNarrow ? width - COLUMN - 6 : right + COLUMN + 10}
                y={yOf(y) + (isNarrow ? 14 : (planned * scale) / 2)}
                anchor={isNarrow ? "end" : "start"}
                name={isNarrow ? "" : platform}
                text={quantity(planned, unit)}
                isOneLine={isNarrow}
              />
            </g>
          ))}
          {picture.bands
            .filter((band) => band.job !== "" && band.before * scale > 14)
            .map((band) => (
              <text
                key={`${band.job} ${band.from} ${band.to}`}
                class="moved"
                x={left + COLUMN + 10}
                y={yOf(band.y0) + (band.before * scale) / 2}
                dominant-baseline="middle"
              >
                {clipped(band.job, 24)}
              </text>
            ))}
        </svg>
      )}
      <p class="flame-legend">
        <span class="sample certain" aria-hidden="true" /> moves, certain
        <span class="sample uncertain" aria-hidden="true" /> moves, not certain
        <span class="sample stays" aria-hidden="true" /> stays
        <span class="sample free" aria-hidden="true" /> becomes free
      </p>
    </div>
  );
}

function Name(props: {
  x: number;
  y: number;
  anchor: "start" | "end";
  name: string;
  text: string;
  isOneLine: boolean;
}) {
  const { x, y, anchor, name, text, isOneLine } = props;
  if (isOneLine)
    return (
      <text x={x} y={y} text-anchor={anchor} dominant-baseline="middle">
        {clipped(name, 24)}
      </text>
    );
  return (
    <text x={x} y={y - 8} text-anchor={anchor} dominant-baseline="middle">
      <tspan class="platform">{clipped(name, 22)}</tspan>
      <tspan x={x} dy="1.35em">
        {text}
      </tspan>
    </text>
  );
}
