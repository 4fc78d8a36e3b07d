#!/usr/bin/env python3
"""Prints, as Markdown, what the time of a build went into.

--objects FOLDER   a build folder of ninja: its .ninja_log says when each object, archive and program began and ended.
                   Two of them are made at a time, so that the sums are about twice the time on the clock.
--headers FOLDER   a configured build folder: sources in its compile_commands.json are parsed again by clang++-19 with
                   -ftime-trace, which says how long each header took, what it includes counted with it.
--every N          parses each Nth source only; counts and sums are multiplied by N.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROWS = 30


def table(title, header, rows):
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def made_outputs(folder):
    """{output: seconds} of the newest time each was made."""
    seconds = {}
    with open(os.path.join(folder, ".ninja_log"), encoding="utf-8") as log:
        for line in log:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 5:
                start, end, _, output, _ = fields
                seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def print_objects(folder):
    objects = {}
    links = {}
    for output, seconds in made_outputs(folder).items():
        if output.endswith(".o"):
            objects[output] = seconds
        elif output.startswith("bin/") or output.endswith((".a", ".so")):
            links[output] = seconds
    targets = collections.defaultdict(lambda: [0, 0.0])
    for output, seconds in objects.items():
        target = re.search(r"CMakeFiles/([^/]+)\.dir/", output).group(1)
        targets[target][0] += 1
        targets[target][1] += seconds
    print(f"\n{len(objects)} objects in {sum(objects.values()):.0f} s, {len(links)} archives and programs in "
          f"{sum(links.values()):.0f} s, each counted by itself.")
    dearest = sorted(targets.items(), key=lambda item: -item[1][1])[:ROWS]
    table("Dearest targets", ["target", "objects", "s"],
          [(f"`{name}`", count, f"{seconds:.1f}") for name, (count, seconds) in dearest])
    table("Dearest objects", ["object", "s"],
          [(f"`{re.sub(r'CMakeFiles/[^/]+[.]dir/', '', name)}`", f"{seconds:.1f}")
           for name, seconds in sorted(objects.items(), key=lambda item: -item[1])[:ROWS]])
    table("Dearest links", ["output", "s"],
          [(f"`{name}`", f"{seconds:.1f}") for name, seconds in sorted(links.items(), key=lambda item: -item[1])[:10]])


def parse_times(entry):
    """[(seconds, header)] of one source, as clang's trace has them, the source itself under its own name."""
    with tempfile.TemporaryDirectory() as folder:
        words = shlex.split(entry["command"])[1:]
        output = words.index("-o")
        del words[output:output + 2]
        words = [word for word in words if word not in ("-c", "-Werror", "-Winvalid-pch")]
        trace = os.path.join(folder, "parsed.json")
        done = subprocess.run(["clang++-19", "-w", *words, "-c", "-O0", "-Xclang", "-fsyntax-only", "-o",
                               os.path.join(folder, "parsed.o"), f"-ftime-trace={trace}"],
                              cwd=entry["directory"], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.path.exists(trace):
            return None
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    times = []
    begun = collections.defaultdict(list)
    for event in events:
        if event.get("name") == "Total Frontend":
            times.append((event["dur"] / 1e6, entry["file"]))
        elif event.get("name") == "Source" and event["ph"] == "b":
            begun[event["id"]].append(event)
        elif event.get("name") == "Source" and event["ph"] == "e":
            start = begun[event["id"]].pop()
            times.append(((event["ts"] - start["ts"]) / 1e6, os.path.normpath(start["args"]["detail"])))
    return times


def print_headers(folder, every):
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry["file"].endswith(".cc")]
    root = os.path.commonpath([entry["file"] for entry in entries]) + "/"
    entries = sorted(entries, key=lambda entry: entry["file"])[::every]
    headers = collections.defaultdict(lambda: [0, 0.0])
    sources = []
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, times in zip(entries, pool.map(parse_times, entries)):
            if times is None:
                failed.append(entry["file"])
            for seconds, path in times or []:
                if path == entry["file"]:
                    sources.append((seconds, path))
                else:
                    headers[path][0] += 1
                    headers[path][1] += seconds
    if failed:
        print(f"\nNot parsed by clang: {', '.join(failed)}", file=sys.stderr)
    print(f"\nFront end of {len(sources)} sources by clang: {sum(time for time, _ in sources):.0f} s, "
          f"{sum(time for time, _ in sources) / max(1, len(sources)):.2f} s each.")
    dearest = sorted(headers.items(), key=lambda item: -item[1][1])[:ROWS]
    table("Dearest headers", ["header, with what it includes", "parsed", "s in all", "ms each"],
          [(f"`{name.removeprefix(root)}`", count * every, f"{seconds * every:.0f}", f"{1000 * seconds / count:.0f}")
           for name, (count, seconds) in dearest])
    table("Sources dearest to parse", ["source", "s"],
          [(f"`{path.removeprefix(root)}`", f"{seconds:.2f}") for seconds, path in sorted(sources, reverse=True)[:ROWS]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", metavar="FOLDER")
    parser.add_argument("--headers", metavar="FOLDER")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    if arguments.objects:
        print_objects(arguments.objects)
    if arguments.headers:
        print_headers(arguments.headers, arguments.every)


if __name__ == "__main__":
    main()
