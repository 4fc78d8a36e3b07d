// Colours that stand side by side and mean different things stay apart for any colour vision, in light and dark.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, DARK, LIGHT } from "../src/flame/colours.ts";
import page from "../src/styles/page.css?raw";

type Colour = readonly [number, number, number];

// How people without one kind of cone see a colour in linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model for
// Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table 1, severity 1.0.
const VISIONS: Readonly<Record<string, readonly [Colour, Colour, Colour]>> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

// IEC 61966-2-1.
function linear(hex: string): Colour {
  assert.match(hex, /^#[0-9a-f]{6}$/);
  const part = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

const times = (rows: readonly Colour[], by: Colour): Colour =>
  rows.map((row) => row[0] * by[0] + row[1] * by[1] + row[2] * by[2]) as unknown as Colour;

// CIE 15: of white D65.
function lab(colour: Colour): Colour {
  const [x, y, z] = times(
    [
      [0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047],
      [0.2126729, 0.7151522, 0.072175],
      [0.0193339 / 1.08883, 0.119192 / 1.08883, 0.9503041 / 1.08883],
    ],
    colour,
  ).map((t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116)) as unknown as Colour;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

// The distance in CIELAB (CIE 1976) as a vision sees it; 2.3 is just noticeable where two colours touch.
function distance(a: string, b: string, vision: string): number {
  const seen = (hex: string): Colour =>
    lab(times(VISIONS[vision]!, linear(hex)).map((part) => Math.min(1, Math.max(0, part))) as unknown as Colour);
  const [one, other] = [seen(a), seen(b)];
  return Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

// Lines are thin and apart from the names that explain them; a verdict's word is beside its colour.
const LINES_APART = 20;
const VERDICTS_APART = 18;
const STATES_APART = 14; // of Health: each has its word, and what needs no attention is not listed

function apart(colours: Readonly<Record<string, string>>, least: number): void {
  const all = Object.entries(colours);
  for (const [i, [name, colour]] of all.entries())
    for (const [other, beside] of all.slice(i + 1))
      for (const vision of Object.keys(VISIONS)) {
        const far = distance(colour, beside, vision);
        assert.ok(far >= least, `${name} ${colour} and ${other} ${beside}, ${vision}: ${far.toFixed(1)}`);
      }
}

// The variables of a block of page.css.
function variables(selector: string): Readonly<Record<string, string>> {
  const start = page.indexOf(`${selector} {`);
  assert.ok(start >= 0, selector);
  const block = page.slice(start, page.indexOf("}", start));
  return Object.fromEntries([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
}

const THEMES = [
  ["light", LIGHT, variables(":root")],
  ["dark", DARK, variables(':root[data-theme="dark"]')],
] as const;

test("the distance is that of published examples", () => {
  // White and black are 100 apart, whatever the vision: their rows add up to 1.
  for (const vision of Object.keys(VISIONS)) assert.ok(Math.abs(distance("#ffffff", "#000000", vision) - 100) < 0.1);
  // Red and the green that people without long-wave cones take for it.
  assert.ok(distance("#ff0000", "#00ff00", "usual") > 150);
  assert.ok(distance("#7f3300", "#405500", "deuteranopia") < distance("#7f3300", "#405500", "usual") / 3);
});

for (const [theme, palette, css] of THEMES) {
  test(`lines of a plot stay apart, and are seen on their panel: ${theme}`, () => {
    assert.ok(palette.strokes.length >= 6, "a plot has five rows and what is left");
    apart(Object.fromEntries(palette.strokes.map((stroke, i) => [`line ${i + 1}`, stroke])), LINES_APART);
    for (const stroke of palette.strokes) assert.ok(contrast(stroke, css["panel"]!) >= 3, stroke);
  });

  test(`verdicts stay apart in flame graphs: ${theme}`, () => {
    const { more, less, chance, match } = palette;
    apart({ more, less, chance, match }, VERDICTS_APART);
  });

  test(`verdicts stay apart in tables and interval plots, and states on Health: ${theme}`, () => {
    const { more, less, chance, good, bad } = css;
    apart({ more: more!, less: less!, chance: chance! }, VERDICTS_APART);
    apart({ good: good!, warning: more!, bad: bad! }, STATES_APART);
  });
}
