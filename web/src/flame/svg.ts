// A flame graph as a picture for a report: what can be seen of the whole at a width, with a title on each box. Pure.
import { clipped, quantity, share, shortName } from "../format.ts";
import type { ColourBy, Palette } from "./colours.ts";
import { codeBaseOf, fillOf } from "./colours.ts";
import type { Box } from "./layout.ts";
import { boxesOf, fitted } from "./layout.ts";
import type { Tree } from "./tree.ts";
import { Kind, nameOf, rows } from "./tree.ts";

const ROW = 18;
const CHARACTER = 6.6; // the mean width of a letter at 12 pixels; readers of the picture have fonts of their own

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export interface Picture {
  tree: Tree;
  palette: Palette;
  colourBy: ColourBy;
  rootBelow: boolean;
  short: boolean;
  from: number; // what is zoomed into
  to: number;
  width: number;
}

function fillOfNode({ tree, palette, colourBy }: Picture, node: number, isRun: boolean): string {
  if (isRun) return palette.run;
  if (node === 0) return palette.root;
  if (tree.kind[node] === Kind.kernel) return palette.kernel;
  if (tree.kind[node] === Kind.unknown) return palette.unknown;
  return fillOf(palette, colourBy === "function" ? nameOf(tree, node) : codeBaseOf(tree, node));
}

function boxAt(picture: Picture, { node, x, width, isRun }: Box, y: number): string {
  const { tree } = picture;
  const fill = fillOfNode(picture, node, isRun);
  const rectangle = `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.4, width - 0.6).toFixed(1)}" height="${ROW - 1}" fill="${fill}"/>`;
  if (isRun) return rectangle;
  const name = picture.short ? shortName(nameOf(tree, node)) : nameOf(tree, node);
  const label = fitted(clipped(name), width - 6, (text) => text.length * CHARACTER);
  const part = share(tree.total[node]! / tree.total[0]!);
  const says = `${clipped(nameOf(tree, node))}: ${part}, ${quantity(tree.total[node]!, tree.unit)}`;
  const style = tree.inlined[node] === 1 ? ' font-style="italic"' : "";
  const text =
    label === "" ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 13}"${style}>${escaped(label)}</text>`;
  return `<g><title>${escaped(says)}</title>${rectangle}${text}</g>`;
}

export function svgOf(picture: Picture): string {
  const { tree, palette, rootBelow, from, to, width } = picture;
  const drawn: { depth: number; at: (y: number) => string }[] = [];
  let last = 0;
  for (let depth = 0; depth < rows(tree); ++depth) {
    const boxes = boxesOf(tree, depth, { from, to, width }, undefined);
    if (boxes.length === 0) break;
    last = depth;
    for (const box of boxes) drawn.push({ depth, at: (y) => boxAt(picture, { ...box }, y) });
  }
  const height = (last + 1) * ROW;
  const placed = drawn.map(({ depth, at }) => at((rootBelow ? last - depth : depth) * ROW)).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="${palette.text}">
<rect width="${width}" height="${height}" fill="${palette.edge}"/>
${placed}
</svg>
`;
}
