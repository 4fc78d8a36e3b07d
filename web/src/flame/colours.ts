// Colours of boxes. Pure. Hues that people with any colour vision keep apart (after Okabe and Ito), of one lightness, so that text on
// each of them has a contrast of 4.5:1 and more.
import type { Tree } from "./tree.ts";
import { Kind, nameOf } from "./tree.ts";

export type ColourBy = "binary" | "function" | "kind";
export type Verdict = "more" | "less" | "chance" | "unknown";

export interface Palette {
  fills: readonly string[]; // by binary or function
  strokes: readonly string[]; // of lines in a plot, in this order: chosen to stay apart for any colour vision (tests/colours.test.ts)
  kernel: string;
  unknown: string;
  root: string;
  run: string; // nodes too narrow to be drawn
  text: string;
  faded: string; // of what a search does not find
  fadedText: string;
  match: string;
  matchText: string;
  mark: string; // hatches, inlined edges
  edge: string; // between boxes
  focus: string;
  more: string;
  less: string;
  chance: string;
}

export const LIGHT: Palette = {
  fills: ["#f5c98b", "#a9d4ef", "#9fd8c4", "#f0e29a", "#edbcd5", "#c9cdf2", "#f3bfa5", "#c9dfa3"],
  strokes: ["#0b6b78", "#b4520a", "#9386d7", "#5d2882", "#bc845e", "#6b311e"],
  kernel: "#c5ccd6",
  unknown: "#e0ddd6",
  root: "#e9e5dc",
  run: "#d9d4c9",
  text: "#1d2733",
  faded: "#efece6",
  fadedText: "#6a7078",
  match: "#7a3fb0",
  matchText: "#ffffff",
  mark: "rgba(29, 39, 51, 0.5)",
  edge: "#ffffff",
  focus: "#0b5fae",
  more: "#f0a45e",
  less: "#86bdf0",
  chance: "#dcd9d2",
};

export const DARK: Palette = {
  fills: ["#8a5a1c", "#23587d", "#1f6a55", "#6b6118", "#7d3d5e", "#484f94", "#8a4630", "#4c6624"],
  strokes: ["#5cc3cf", "#f0a45e", "#8b7ee4", "#c4eeb4", "#bd5479", "#95703f"],
  kernel: "#45505f",
  unknown: "#3b3f45",
  root: "#30363e",
  run: "#3a4048",
  text: "#f4f1ea",
  faded: "#262c34",
  fadedText: "#9aa2ac",
  match: "#d7b4ff",
  matchText: "#1c1030",
  mark: "rgba(244, 241, 234, 0.5)",
  edge: "#12181f",
  focus: "#8fc7ff",
  more: "#9a5212",
  less: "#245f9c",
  chance: "#3b4046",
};

// Equal texts have equal colours, on every page.
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length && i < 400; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

export function fillOf(palette: Palette, text: string): string {
  const hash = hashOf(text);
  return palette.fills[((hash ^ (hash >>> 15)) >>> 0) % palette.fills.length]!;
}

// WCAG 2's contrast of two colours "#rrggbb".
export function contrast(a: string, b: string): number {
  const luminance = (colour: string): number => {
    const part = (at: number): number => {
      const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  };
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

// The binary; of code that came with names alone the folder of its source, else what its name begins with.
export function codeBaseOf(tree: Tree, node: number): string {
  const binary = tree.binaries[tree.binary[node]!] ?? "";
  if (binary !== "") return binary;
  const file = tree.files[tree.file[node]!] ?? "";
  return file === "" ? (/^[^:(<.]*/.exec(nameOf(tree, node))?.[0] ?? "") : file.replace(/\/?[^/]*$/, "");
}

export interface Colouring {
  tree: Tree;
  palette: Palette;
  colourBy: ColourBy;
  verdicts?: ReadonlyMap<string, Verdict> | undefined; // by function: they colour in place of colourBy
}

export interface Fill {
  colour: string;
  hatch: number; // pixels from one of its lines to the next; 0: none
}

const HATCH_UNKNOWN = 4;
const HATCH_KERNEL = 5;

// Of a box on the canvas as in a file. ofText: where the caller keeps fills of texts.
export function fillOfNode(
  { tree, palette, colourBy, verdicts }: Colouring,
  node: number,
  ofText = (text: string): string => fillOf(palette, text),
): Fill {
  const plain = (colour: string): Fill => ({ colour, hatch: 0 });
  if (node === 0) return plain(palette.root);
  if (verdicts !== undefined) {
    const verdict = verdicts.get(nameOf(tree, node)) ?? "unknown";
    return verdict === "unknown" ? { colour: palette.chance, hatch: HATCH_UNKNOWN } : plain(palette[verdict]);
  }
  if (tree.kind[node] === Kind.kernel) return { colour: palette.kernel, hatch: HATCH_KERNEL };
  if (tree.kind[node] === Kind.unknown) return plain(palette.unknown);
  return plain(ofText(colourBy === "function" ? nameOf(tree, node) : codeBaseOf(tree, node)));
}
