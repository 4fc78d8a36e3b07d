// Draws a tree on a canvas that is as large as what can be seen of it.
import { clipped, shortName } from "../format.ts";
import type { Colouring, Palette } from "./colours.ts";
import { fillOf, fillOfNode } from "./colours.ts";
import type { Box, View } from "./layout.ts";
import { boxesOf, fitted, matchSpans } from "./layout.ts";
import type { Matches } from "./search.ts";
import type { Tree } from "./tree.ts";
import { isBelow, nameOf, rows } from "./tree.ts";

export const ROW = 20; // pixels
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const STRIP = 5;

export interface Scene extends Colouring {
  view: View;
  height: number; // pixels
  top: number; // of what is seen: pixels scrolled
  rootBelow: boolean; // a flame; else an icicle
  zoomed: number; // node
  matches: Matches | undefined;
  selected: number; // node; -1: none
  short: boolean; // names
}

export function contentHeight(tree: Tree): number {
  return rows(tree) * ROW;
}

// The row of pixels that a depth has, from the top of the whole picture.
export function topOf(tree: Tree, depth: number, rootBelow: boolean): number {
  return (rootBelow ? rows(tree) - 1 - depth : depth) * ROW;
}

export function depthAt(tree: Tree, y: number, rootBelow: boolean): number {
  const row = Math.floor(y / ROW);
  return rootBelow ? rows(tree) - 1 - row : row;
}

// What one drawing after the other shares: labels, widths of texts, hatches.
export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private labels = new Map<string, string>();
  private fills = new Map<string, string>();
  private hatches = new Map<string, CanvasPattern | string>();
  private widths = new Float32Array(128);
  private boxes: Box[] = [];
  private palette: Palette | undefined;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.context.font = FONT;
    for (let c = 32; c < 127; ++c) this.widths[c] = this.context.measureText(String.fromCharCode(c)).width;
  }

  // Without a system call for each character of a name.
  private widthOf = (text: string): number => {
    let width = 0;
    for (let i = 0; i < text.length; ++i) {
      const code = text.charCodeAt(i);
      if (code >= 127 || code < 32) {
        return code === 0x2026 && i === text.length - 1 ? width + 12 : this.context.measureText(text).width;
      }
      width += this.widths[code]!;
    }
    return width;
  };

  private labelOf(name: string, short: boolean): string {
    const key = short ? `s${name}` : name;
    let label = this.labels.get(key);
    if (label === undefined) {
      label = clipped(short ? shortName(name) : name);
      this.labels.set(key, label);
    }
    return label;
  }

  private fill(palette: Palette, text: string): string {
    let fill = this.fills.get(text);
    if (fill === undefined) this.fills.set(text, (fill = fillOf(palette, text)));
    return fill;
  }

  // Prepared once for each colour.
  private hatch(fill: string, mark: string, step: number): CanvasPattern | string {
    const key = `${fill} ${mark} ${step}`;
    let hatch = this.hatches.get(key);
    if (hatch === undefined) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = step * 2;
      const context = tile.getContext("2d")!;
      context.fillStyle = fill;
      context.fillRect(0, 0, step * 2, step * 2);
      context.strokeStyle = mark;
      context.globalAlpha = 0.32;
      context.lineWidth = 1.2;
      context.beginPath();
      for (let at = -2; at <= 4; ++at) {
        context.moveTo(at * step - 1, step * 2 + 1);
        context.lineTo(at * step + step * 2 + 1, -1);
      }
      context.stroke();
      hatch = this.context.createPattern(tile, "repeat") ?? fill;
      this.hatches.set(key, hatch);
    }
    return hatch;
  }

  private fillOfNode(scene: Scene, node: number): CanvasPattern | string {
    const { palette } = scene;
    const { colour, hatch } = fillOfNode(scene, node, (text) => this.fill(palette, text));
    return hatch === 0 ? colour : this.hatch(colour, palette.text, hatch);
  }

  draw(scene: Scene): void {
    const { tree, palette, view } = scene;
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    const width = Math.round(view.width * ratio);
    const height = Math.round(scene.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    if (this.palette !== palette) {
      this.palette = palette;
      this.fills.clear();
    }
    const context = this.context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.edge;
    context.fillRect(0, 0, view.width, scene.height);
    context.font = FONT;
    context.textBaseline = "middle";
    context.direction = "ltr";
    const first = Math.max(0, Math.floor(scene.top / ROW));
    const last = Math.min(rows(tree) - 1, Math.floor((scene.top + scene.height - 1) / ROW));
    for (let row = first; row <= last; ++row) {
      const depth = scene.rootBelow ? rows(tree) - 1 - row : row;
      this.drawRow(scene, depth, row * ROW - scene.top);
    }
    if (scene.matches !== undefined && scene.matches.nodes.length > 0) this.drawStrip(scene, scene.matches);
  }

  private drawRow(scene: Scene, depth: number, y: number): void {
    const { tree, palette, view } = scene;
    const context = this.context;
    for (const box of boxesOf(tree, depth, view, scene.matches, this.boxes)) {
      const { node, x } = box;
      const width = Math.max(0.5, box.width - (box.width > 3 ? 1 : 0));
      const isAbove = depth < tree.depth[scene.zoomed]!;
      const isFaded =
        (scene.matches !== undefined && !box.isMatch) || (isAbove && !isBelow(tree, scene.zoomed, node));
      if (box.isMatch) context.fillStyle = palette.match;
      else if (isFaded) context.fillStyle = palette.faded;
      else if (box.isRun) context.fillStyle = palette.run;
      else context.fillStyle = this.fillOfNode(scene, node);
      if (isAbove && !isFaded && !box.isMatch) context.globalAlpha = 0.6;
      const shown = box.isMatch ? Math.max(2, width) : width; // a match is never too narrow to be seen
      context.fillRect(x, y, shown, ROW - 1);
      context.globalAlpha = 1;
      if (box.isRun) continue;
      if (tree.inlined[node] === 1 && width > 4) this.markInlined(x, y, width, palette);
      if (width > 20) this.drawLabel(scene, box, x, y, width, isFaded);
      if (node === scene.selected) {
        context.strokeStyle = palette.focus;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(1, width - 2), ROW - 3);
      }
    }
  }

  // A dotted line where an inlined function meets its caller: there is no call.
  private markInlined(x: number, y: number, width: number, palette: Palette): void {
    const context = this.context;
    context.strokeStyle = palette.mark;
    context.lineWidth = 1.5;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(x + 1, y + 1);
    context.lineTo(x + width - 1, y + 1);
    context.stroke();
    context.setLineDash([]);
  }

  private drawLabel(scene: Scene, box: Box, x: number, y: number, width: number, isFaded: boolean): void {
    const { tree, palette } = scene;
    const context = this.context;
    const label = fitted(this.labelOf(nameOf(tree, box.node), scene.short), width - 8, this.widthOf);
    if (label === "") return;
    const isItalic = tree.inlined[box.node] === 1;
    if (isItalic) context.font = `italic ${FONT}`;
    context.fillStyle = box.isMatch ? palette.matchText : isFaded ? palette.fadedText : palette.text;
    context.fillText(label, x + 4, y + ROW / 2);
    if (isItalic) context.font = FONT;
  }

  // Below the root's end, where every match is seen, however deep and narrow.
  private drawStrip(scene: Scene, matches: Matches): void {
    const context = this.context;
    const y = scene.rootBelow ? 0 : scene.height - STRIP;
    context.fillStyle = scene.palette.edge;
    context.fillRect(0, y, scene.view.width, STRIP);
    context.fillStyle = scene.palette.match;
    for (const [from, to] of matchSpans(scene.tree, matches, scene.view, 2))
      context.fillRect(from, y, to - from, STRIP);
  }
}
