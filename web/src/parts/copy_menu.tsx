// The same question elsewhere: command line, API, link; and files.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Coverage, Question, ViewSpec } from "../api.ts";
import { ApiError, download, viewNamed } from "../api.ts";
import { formatAddress, withParameters } from "../address.ts";
import { apiAddress, commandLine, curl } from "../share.ts";
import { address, token } from "../state.ts";

export interface File {
  name: string; // "profile.pb.gz"
  says: string;
  make: () => Promise<Blob> | Blob;
}

export async function save(name: string, blob: Blob): Promise<void> {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// Whether it was copied. Without a secure context a page may not write to the clipboard: then the text is shown to be copied by hand.
export async function copied(what: string, text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    window.prompt(what, text);
    return false;
  }
}

function exportFile(view: string, name: string, says: string, question: Question): File {
  return { name, says, make: () => download(view, question) };
}

function base(): string {
  return new URL("./", location.href).href;
}

export function CopyMenu({
  view,
  question,
  coverage,
  files,
  label = "Copy and download",
}: {
  view: ViewSpec;
  question: Question;
  coverage: Coverage | undefined; // of the one time range that the question has; else no link fixes it
  files: readonly File[];
  label?: string;
}) {
  const [isOpen, setOpen] = useState(false);
  const [done, setDone] = useState("");
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event): void => {
      if (!(event.target instanceof Node) || !menu.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [isOpen]);
  const server = base().replace(/\/$/, "");
  // The same tree: it stays zoomed.
  const lasting = ({ from, to }: Coverage): string => {
    const fixed = withParameters(address.value, { since: from, until: to });
    return new URL(formatAddress({ ...fixed, zoom: address.value.zoom }), base()).href;
  };
  const texts: [string, string, () => string][] = [
    // A view that another command takes has no command line of its own.
    ...(view.command === ""
      ? []
      : [
          [
            "Command line",
            "plimsoll \u2026",
            () => commandLine(view.command, server, question, view.parameters),
          ] as [string, string, () => string],
        ]),
    ["API call", "curl \u2026", () => curl(apiAddress(base(), view.name, question), token.value !== "")],
    ["Link to this page", "relative times move on", () => location.href],
  ];
  if (coverage !== undefined && coverage.samples > 0) {
    texts.push(["Link with these times", "shows the same later", () => lasting(coverage)]);
  }
  const copy = async (what: string, text: string): Promise<void> => {
    if (await copied(what, text)) setDone(`${what}: copied`);
  };
  return (
    <div
      class="menu"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key === "Escape") setOpen(false);
      }}
    >
      <button type="button" aria-haspopup="true" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
      </button>
      {isOpen ? (
        <div class="popover">
          <h3>Copy</h3>
          <ul>
            {texts.map(([name, says, make]) => (
              <li key={name}>
                <button type="button" data-copies={make()} onClick={() => void copy(name, make())}>
                  {name} <span class="hint">{says}</span>
                </button>
              </li>
            ))}
          </ul>
          <h3>Download</h3>
          <ul>
            {files.map(({ name, says, make }) => (
              <li key={name}>
                <button
                  type="button"
                  onClick={() => {
                    setDone(`${name}: preparing\u2026`);
                    Promise.resolve(make()).then(
                      (blob) => save(name, blob).then(() => setDone(`${name}: saved`)),
                      (error: unknown) =>
                        setDone(error instanceof ApiError ? `${name}: ${error.message}` : `${name}: failed`),
                    );
                  }}
                >
                  {name} <span class="hint">{says}</span>
                </button>
              </li>
            ))}
          </ul>
          <p role="status" class="hint">
            {done}
          </p>
        </div>
      ) : null}
    </div>
  );
}

// The samples of a question as files of other tools.
export function exports(question: Question): File[] {
  const taken = viewNamed("export/pprof")?.parameters ?? [];
  const names = new Set(taken.map(({ name }) => name));
  const selection = question.filter(([name]) => names.has(name));
  return [exportFile("export/pprof", "profile.pb.gz", "for go tool pprof", selection)];
}
