// The same question for other tools. Pure.

export interface Parameter {
  name: string;
  kind: string;
  flag: string;
  placeholder: string;
  help: string;
  default: string;
  repeatable: boolean;
  positional: boolean;
  choices: string[];
}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

// A word of a command line of a POSIX shell.
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// Where daemons find the server that a browser knows by this name, if it has the usual port for them (server.fleet_listen).
export function daemonsAddress(hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, "");
  return `${host.includes(":") ? `[${host}]` : host}:7071`;
}

export function commandLine(
  command: string,
  server: string,
  question: readonly (readonly [string, string])[],
  parameters: readonly Parameter[],
): string {
  const words = ["plimsoll", command, "--server", quoted(server)];
  for (const [name, value] of question) {
    const parameter = parameters.find((candidate) => candidate.name === name);
    if (parameter === undefined) continue;
    if (parameter.kind === "flag") {
      if (value !== (parameter.default || "no")) words.push(parameter.flag);
    } else if (parameter.positional) {
      words.push(quoted(value));
    } else {
      words.push(parameter.flag, quoted(value));
    }
  }
  return words.join(" ");
}

export function apiAddress(
  base: string,
  view: string,
  question: readonly (readonly [string, string])[],
): string {
  const query = new URLSearchParams(question.map(([name, value]) => [name, value])).toString();
  return new URL(`api/v1/${view}${query === "" ? "" : `?${query}`}`, base).href;
}

export function curl(address: string, asksForToken: boolean): string {
  const token = asksForToken ? ' -H "Authorization: Bearer $PLIMSOLL_TOKEN"' : "";
  return `curl${token} ${quoted(address)}`;
}

// RFC 4180; no cell is a formula for a spreadsheet.
export function csvOf(
  columns: readonly { name: string }[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = String(value);
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [columns.map((column) => cell(column.name)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => cell(row[column.name])).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
