// A flame graph as a picture for a report: what can be seen of the whole at a width, with a title on each box. Pure.
import { clipped, quantity, share, shortName } from "../format.ts";
import type { Colouring, Fill } from "./colours.ts";
import { fillOfNode } from "./colours.ts";
import type { Box } from "./layout.ts";
import { boxesOf, fitted } from "./layout.ts";
import type { Matches } from "./search.ts";
import { nameOf, rows } from "./tree.ts";

const ROW = 18;
const CHARACTER = 6.6; // the mean width of a letter at 12 pixels; readers of the picture have fonts of their own

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export interface Picture extends Colouring {
  rootBelow: boolean;
  short: boolean;
  matches?: Matches | undefined;
  from: number; // what is zoomed into
  to: number;
  width: number;
}

// Hatched fills as patterns of the picture, each once.
class Patterns {
  private readonly ids = new Map<string, string>();
  readonly definitions: string[] = [];

  constructor(private readonly line: string) {}

  fill({ colour, hatch }: Fill): string {
    if (hatch === 0) return colour;
    const key = `${colour} ${hatch}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = `hatch-${this.ids.size}`;
      this.ids.set(key, id);
      this.definitions.push(
        `<pattern id="${id}" width="${hatch}" height="${hatch}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="${hatch}" height="${hatch}" fill="${colour}"/><path d="M0 0V${hatch}" stroke="${this.line}" stroke-opacity="0.32" stroke-width="1.2"/></pattern>`,
      );
    }
    return `url(#${id})`;
  }
}

function coloursOf(picture: Picture, { node, isRun, isMatch }: Box, patterns: Patterns): [string, string] {
  const { palette, matches } = picture;
  if (isMatch) return [palette.match, palette.matchText];
  if (matches !== undefined) return [palette.faded, palette.fadedText];
  return [isRun ? palette.run : patterns.fill(fillOfNode(picture, node)), palette.text];
}

function boxAt(picture: Picture, box: Box, y: number, patterns: Patterns): string {
  const { tree, palette } = picture;
  const { node, x, width, isRun } = box;
  const [fill, ink] = coloursOf(picture, box, patterns);
  const drawn = Math.max(0.4, width - 0.6);
  const rectangle = `<rect x="${x.toFixed(1)}" y="${y}" width="${drawn.toFixed(1)}" height="${ROW - 1}" fill="${fill}"/>`;
  if (isRun) return rectangle;
  const isInlined = tree.inlined[node] === 1;
  const name = picture.short ? shortName(nameOf(tree, node)) : nameOf(tree, node);
  const label = fitted(clipped(name), width - 6, (text) => text.length * CHARACTER);
  const part = share(tree.total[node]! / tree.total[0]!);
  const says = `${clipped(nameOf(tree, node))}: ${part}, ${quantity(tree.total[node]!, tree.unit)}`;
  const style = `${isInlined ? ' font-style="italic"' : ""}${ink === palette.text ? "" : ` fill="${ink}"`}`;
  const text =
    label === "" ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 13}"${style}>${escaped(label)}</text>`;
  const edge =
    isInlined && width > 4
      ? `<path d="M${(x + 1).toFixed(1)} ${y + 1}h${(drawn - 2).toFixed(1)}" stroke="${palette.text}" stroke-opacity="0.5" stroke-width="1.5" stroke-dasharray="2 3"/>`
      : "";
  return `<g><title>${escaped(says)}</title>${rectangle}${edge}${text}</g>`;
}

export function svgOf(picture: Picture): string {
  const { tree, palette, rootBelow, from, to, width, matches } = picture;
  const patterns = new Patterns(palette.text);
  const drawn: { depth: number; box: Box }[] = [];
  let last = 0;
  for (let depth = 0; depth < rows(tree); ++depth) {
    const boxes = boxesOf(tree, depth, { from, to, width }, matches);
    if (boxes.length === 0) break;
    last = depth;
    for (const box of boxes) drawn.push({ depth, box });
  }
  const height = (last + 1) * ROW;
  const placed = drawn
    .map(({ depth, box }) => boxAt(picture, box, (rootBelow ? last - depth : depth) * ROW, patterns))
    .join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="${palette.text}">
<defs>${patterns.definitions.join("")}</defs>
<rect width="${width}" height="${height}" fill="${palette.edge}"/>
${placed}
</svg>
`;
}
