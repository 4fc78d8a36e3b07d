// A flame graph as pictures to take away: as it is zoomed, coloured, named and searched now.
import type { Verdict } from "../flame/colours.ts";
import { matchesOf, patternOf } from "../flame/search.ts";
import { svgOf } from "../flame/svg.ts";
import type { Tree } from "../flame/tree.ts";
import { nodeOfKey } from "../flame/tree.ts";
import { address, palette } from "../state.ts";
import type { File } from "./copy_menu.tsx";

const WIDTH = 1200; // pixels of a page in print

function canvasPicture(): Promise<Blob> {
  const canvas = document.querySelector<HTMLCanvasElement>(".flame canvas");
  return new Promise((resolve, reject) => {
    if (canvas === null) reject(new Error("no picture"));
    else canvas.toBlob((blob) => (blob === null ? reject(new Error("no picture")) : resolve(blob)), "image/png");
  });
}

function vectorPicture(tree: Tree, verdicts: ReadonlyMap<string, Verdict> | undefined): Blob {
  const { show, zoom, colour, names, find } = address.value;
  const zoomed = zoom === "" ? 0 : Math.max(0, nodeOfKey(tree, zoom));
  const pattern = patternOf(find);
  const text = svgOf({
    tree,
    palette: palette.value,
    colourBy: colour === "function" ? "function" : "binary",
    verdicts,
    matches: pattern !== undefined && "search" in pattern ? matchesOf(tree, pattern.search) : undefined,
    rootBelow: show === "flame",
    short: names === "short",
    from: tree.x[zoomed]!,
    to: tree.x[zoomed]! + tree.total[zoomed]!,
    width: WIDTH,
  });
  return new Blob([text], { type: "image/svg+xml" });
}

export function pictures(tree: Tree, verdicts?: ReadonlyMap<string, Verdict>): File[] {
  return [
    { name: "flame.png", says: "what is seen now", make: canvasPicture },
    { name: "flame.svg", says: "for a report", make: () => vectorPicture(tree, verdicts) },
  ];
}
