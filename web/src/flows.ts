// Today's placement and the proposed one as a picture: platforms as columns of what they take, and between them what stays and what moves. Pure.
import type { Row } from "./api.ts";

export interface Flow {
  job: string; // of a move; "": all that stays
  from: string;
  to: string;
  before: number; // cycles a second that it takes today
  after: number; // and in the plan
  certain: string; // yes, no, unknown; "" for what stays
  isSavingKnown: boolean; // else `before` is as much as `after`
}

export interface Band extends Flow {
  y0: number; // where it begins on the side of today, in the unit of `before`
  y1: number;
}

export interface Column {
  platform: string;
  today: number;
  planned: number;
  y: number; // where it begins, on both sides
}

export interface Picture {
  columns: Column[];
  bands: Band[];
  height: number; // with the gaps
}

const num = (row: Row, name: string): number => (typeof row[name] === "number" ? (row[name] as number) : 0);

// From the answers by platform, by placement and by move. Of a move whose saving is unknown the load takes as much as before.
export function flowsOf(platforms: readonly Row[], placed: readonly Row[], moves: readonly Row[]): Flow[] {
  const costs = new Map(
    placed.map((row) => [`${row["job"]}\u0000${row["platform"]}`, num(row, "cost")] as const),
  );
  const flows: Flow[] = moves.map((row) => {
    const after = num(row, "load") * (costs.get(`${row["job"]}\u0000${row["to"]}`) ?? 0);
    return {
      job: String(row["job"] ?? ""),
      from: String(row["from"] ?? ""),
      to: String(row["to"] ?? ""),
      before: Math.max(0, after + num(row, "saving")),
      after,
      certain: String(row["certain"] ?? ""),
      isSavingKnown: typeof row["saving"] === "number",
    };
  });
  const stays: Flow[] = platforms.map((row) => {
    const platform = String(row["platform"] ?? "");
    const leaving = flows
      .filter(({ from }) => from === platform)
      .reduce((sum, { before }) => sum + before, 0);
    const coming = flows.filter(({ to }) => to === platform).reduce((sum, { after }) => sum + after, 0);
    return {
      job: "",
      from: platform,
      to: platform,
      before: Math.max(0, num(row, "todays_capacity_used") - leaving),
      after: Math.max(0, num(row, "capacity_used") - coming),
      certain: "",
      isSavingKnown: true,
    };
  });
  return [...stays, ...flows];
}

// `gap` between platforms as a share of all. A platform begins at the same height on both sides, so that what becomes free is seen. What stays
// is on top of each column, then moves by the other end's place, so that few cross.
export function pictureOf(platforms: readonly Row[], flows: readonly Flow[], gap = 0.04): Picture {
  const names = platforms.map((row) => String(row["platform"] ?? ""));
  const place = new Map(names.map((name, i) => [name, i]));
  const sums = (end: "from" | "to", side: "before" | "after"): number[] =>
    names.map((name) =>
      flows.filter((flow) => flow[end] === name).reduce((all, flow) => all + flow[side], 0),
    );
  const today = sums("from", "before");
  const planned = sums("to", "after");
  const heights = names.map((_, i) => Math.max(today[i]!, planned[i]!));
  const space = gap * heights.reduce((all, height) => all + height, 0);
  const starts: number[] = [];
  let y = 0;
  for (const height of heights) {
    starts.push(y);
    y += height + space;
  }
  const bands: Band[] = flows.map((flow) => ({ ...flow, y0: 0, y1: 0 }));
  const stack = (
    end: "from" | "to",
    other: "from" | "to",
    side: "before" | "after",
    at: "y0" | "y1",
  ): void => {
    for (const [i, name] of names.entries()) {
      let next = starts[i]!;
      const own = bands
        .filter((band) => band[end] === name)
        .sort(
          (a, b) =>
            Number(a.job !== "") - Number(b.job !== "") ||
            place.get(a[other])! - place.get(b[other])! ||
            b.before - a.before,
        );
      for (const band of own) {
        band[at] = next;
        next += band[side];
      }
    }
  };
  stack("from", "to", "before", "y0");
  stack("to", "from", "after", "y1");
  const columns = names.map((platform, i) => ({
    platform,
    today: today[i]!,
    planned: planned[i]!,
    y: starts[i]!,
  }));
  return { columns, bands, height: y - space };
}

// Job by platform: the share of the job's load there, today and in the plan.
export interface Assignment {
  job: string;
  load: number;
  today: Map<string, number>;
  planned: Map<string, number>;
  isMoved: boolean;
}

export function assignmentsOf(measured: readonly Row[], placed: readonly Row[]): Assignment[] {
  const jobs = new Map<string, Assignment>();
  const of = (name: string): Assignment => {
    let job = jobs.get(name);
    if (job === undefined)
      jobs.set(name, (job = { job: name, load: 0, today: new Map(), planned: new Map(), isMoved: false }));
    return job;
  };
  for (const row of measured) of(String(row["job"])).load += num(row, "load");
  for (const row of measured) {
    const job = of(String(row["job"]));
    if (job.load > 0) job.today.set(String(row["platform"]), num(row, "load") / job.load);
  }
  for (const row of placed)
    of(String(row["job"])).planned.set(String(row["platform"]), num(row, "load_share"));
  for (const job of jobs.values()) {
    const platforms = new Set([...job.today.keys(), ...job.planned.keys()]);
    job.isMoved = [...platforms].some(
      (name) => Math.abs((job.today.get(name) ?? 0) - (job.planned.get(name) ?? 0)) > 1e-6,
    );
  }
  return [...jobs.values()]
    .filter(({ load }) => load > 0)
    .sort((a, b) => b.load - a.load || (a.job < b.job ? -1 : 1));
}
