// What stands above and below a flame graph: search, colours, names, where it is zoomed to, and what its marks mean.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { valuesOf, withParameters } from "../address.ts";
import type { ColourBy } from "../flame/colours.ts";
import { patternOf } from "../flame/search.ts";
import type { Tree } from "../flame/tree.ts";
import { nameOf, nodeOfKey, pathTo } from "../flame/tree.ts";
import { clipped } from "../format.ts";
import { equals } from "../predicate.ts";
import { address, change, linkTo } from "../state.ts";
import { functionPage, isNamed } from "./links.ts";

const COLOURS: readonly [ColourBy, string][] = [
  ["binary", "binary"],
  ["function", "function"],
];

export function FlameTools({
  tree,
  showsColours = true,
  ratios = [],
  children,
}: {
  tree: Tree;
  showsColours?: boolean;
  ratios?: readonly string[]; // of several events: each can colour
  children?: ComponentChildren;
}) {
  const colours: readonly (readonly [string, string])[] = [
    ...ratios.map((name) => [name, clipped(name, 40)] as const),
    ...COLOURS,
  ];
  const usual = colours[0]![0];
  const [text, setText] = useState(address.value.find);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(address.value.find), [address.value.find]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const pattern = useMemo(() => patternOf(text), [text]);
  const wrong = pattern !== undefined && "error" in pattern ? pattern.error : "";
  const zoomed = address.value.zoom === "" ? 0 : Math.max(0, nodeOfKey(tree, address.value.zoom));
  const path = zoomed === 0 ? [] : pathTo(tree, zoomed);
  return (
    <div class="flame-tools">
      <label class="search">
        <span class="unseen">Search functions and binaries, as a regular expression</span>
        <input
          ref={field}
          type="search"
          placeholder="Search: regular expression ( / )"
          spellcheck={false}
          value={text}
          aria-invalid={wrong !== ""}
          onInput={(event) => {
            const value = event.currentTarget.value;
            setText(value);
            const next = patternOf(value);
            if (next === undefined || "search" in next) change({ find: value }, true);
          }}
        />
      </label>
      {showsColours ? (
        <label class="inline">
          Colour by
          <select
            value={address.value.colour || usual}
            onChange={(event) =>
              change({ colour: event.currentTarget.value === usual ? "" : event.currentTarget.value })
            }
          >
            {colours.map(([value, says]) => (
              <option key={value} value={value}>
                {says}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <label class="inline">
        <input
          type="checkbox"
          checked={address.value.names === "short"}
          onChange={(event) => change({ names: event.currentTarget.checked ? "short" : "" })}
        />
        short names
      </label>
      <label class="inline">
        <input
          type="checkbox"
          checked={address.value.collapse}
          onChange={(event) => change({ collapse: event.currentTarget.checked, zoom: "" })}
        />
        collapse recursion
      </label>
      {children}
      {wrong === "" ? null : (
        <p class="wrong" role="alert">
          {clipped(wrong, 120)}
        </p>
      )}
      {path.length === 0 ? null : (
        <ol class="crumbs" aria-label="Zoomed into">
          <li>
            <a {...linkTo({ ...address.value, zoom: "" })}>all</a>
          </li>
          <li class="last">{clipped(nameOf(tree, zoomed), 90)}</li>
          <li>
            <a
              {...linkTo(
                withParameters(
                  { ...address.value, show: "table" },
                  { where: [...valuesOf(address.value, "where"), equals("function", nameOf(tree, zoomed))] },
                ),
              )}
            >
              as filter
            </a>
          </li>
          <li>
            <a
              {...linkTo({
                ...address.value,
                show: "sandwich",
                find: `^${nameOf(tree, zoomed).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`,
                zoom: "",
              })}
            >
              callers and callees
            </a>
          </li>
          {isNamed(nameOf(tree, zoomed)) ? (
            <li>
              <a {...linkTo(functionPage(nameOf(tree, zoomed)))}>its page</a>
            </li>
          ) : null}
        </ol>
      )}
    </div>
  );
}

export function FlameLegend() {
  return (
    <p class="flame-legend">
      <span class="sample kernel" aria-hidden="true" /> kernel
      <span class="sample inlined" aria-hidden="true" /> inlined
      <span class="sample unknown" aria-hidden="true" /> no symbol
    </p>
  );
}
