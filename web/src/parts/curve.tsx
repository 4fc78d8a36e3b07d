// A small plot of one or two curves with a marked point, on linear or logarithmic axes.
import { palette } from "../state.ts";
import { useSize } from "../hooks.ts";
import { logTicks } from "../plot.ts";
import { ticksUpTo } from "../series.ts";

export interface Axis {
  name: string;
  text: (value: number) => string;
  isLogarithmic: boolean;
}

const HEIGHT = 230;
const LEFT = 64;
const RIGHT = 18;
const TOP = 12;
const BOTTOM = 42;

export function Curve(props: {
  label: string; // for those who do not see it
  x: Axis;
  y: Axis;
  points: readonly (readonly [number, number])[];
  marked?: readonly [number, number] | undefined;
  markedText?: string;
}) {
  const { x, y, points, marked } = props;
  const [measure, { width }] = useSize<HTMLDivElement>();
  const seen = points.filter(([a, b]) => (!x.isLogarithmic || a > 0) && (!y.isLogarithmic || b > 0));
  const range = (axis: Axis, values: number[]): [number, number] => {
    const largest = Math.max(...values);
    if (!axis.isLogarithmic) return [0, largest];
    const least = Math.min(...values);
    return least === largest ? [least / 2, largest * 2] : [least, largest];
  };
  const inner = Math.max(1, width - LEFT - RIGHT);
  const [x0, x1] = range(
    x,
    seen.map(([a]) => a),
  );
  const [y0, y1] = range(
    y,
    seen.map(([, b]) => b),
  );
  const part = (axis: Axis, value: number, from: number, to: number): number =>
    axis.isLogarithmic ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from || 1);
  const xOf = (value: number): number => LEFT + inner * part(x, value, x0, x1);
  const yOf = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - part(y, value, y0, y1));
  const ticksOf = (axis: Axis, from: number, to: number, about: number): number[] =>
    axis.isLogarithmic ? logTicks(from, to, about) : ticksUpTo(to, about);
  const stroke = palette.value.strokes[0]!;
  const path = seen
    .map(([a, b], i) => {
      const at = `${xOf(a).toFixed(1)} ${yOf(b).toFixed(1)}`;
      return `${i === 0 ? "M" : "L"}${at}`;
    })
    .join("");
  return (
    <div class="curve" ref={measure}>
      <p class="axis-name">{y.name}</p>
      {width === 0 || seen.length === 0 ? (
        <div style={{ height: `${HEIGHT}px` }} />
      ) : (
        <svg width={width} height={HEIGHT} role="img" aria-label={props.label}>
          {ticksOf(y, y0, y1, 4).map((value) => (
            <g key={value} class="tick">
              <line x1={LEFT} x2={LEFT + inner} y1={yOf(value)} y2={yOf(value)} />
              <text x={LEFT - 8} y={yOf(value)} text-anchor="end" dominant-baseline="middle">
                {y.text(value)}
              </text>
            </g>
          ))}
          {ticksOf(x, x0, x1, Math.max(2, Math.floor(inner / 90))).map((value) => (
            <text key={value} x={xOf(value)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
              {x.text(value)}
            </text>
          ))}
          <text class="axis-name" x={LEFT + inner} y={HEIGHT - 6} text-anchor="end">
            {x.name}
          </text>
          <path d={path} fill="none" stroke={stroke} stroke-width="2" stroke-linejoin="round" />
          {seen.map(([a, b]) => (
            <circle key={`${a} ${b}`} cx={xOf(a)} cy={yOf(b)} r="2.5" fill={stroke}>
              <title>{`${x.text(a)}: ${y.text(b)}`}</title>
            </circle>
          ))}
          {marked === undefined ? null : (
            <g class="marked">
              <line x1={xOf(marked[0])} x2={xOf(marked[0])} y1={yOf(marked[1])} y2={HEIGHT - BOTTOM} />
              <line x1={LEFT} x2={xOf(marked[0])} y1={yOf(marked[1])} y2={yOf(marked[1])} />
              <circle cx={xOf(marked[0])} cy={yOf(marked[1])} r="6" />
              <MarkedText x={xOf(marked[0])} y={yOf(marked[1])} end={LEFT + inner} text={props.markedText ?? ""} />
            </g>
          )}
        </svg>
      )}
    </div>
  );
}

const LETTER = 8; // pixels of a bold one, at most

// Beside its point: above it, unless that is at the top, where the curve and the line to the axis are.
function MarkedText({ x, y, end, text }: { x: number; y: number; end: number; text: string }) {
  const isRight = x + 12 + text.length * LETTER < end;
  return (
    <text
      x={x + (isRight ? 12 : -12)}
      y={y < TOP + 26 ? y + 24 : y - 12}
      text-anchor={isRight ? "start" : "end"}
    >
      {text}
    </text>
  );
}
