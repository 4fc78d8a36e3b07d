#!/usr/bin/env python3
"""Runs clang-tidy-19 over sources, those of a folder together, and prints what it finds in each.

Most of what clang-tidy does for one source is to parse headers and to match its checks against them: sixteen sources in one
file take a fifth of the time. A batch is their texts one after another, which is the main file for every check, so that the static
analyser looks at all functions; places in reports are those in the sources. Sources that do not compile together are checked
one by one. A batch is checked as a whole if any of its sources is asked for. A batch that was found clean is not checked again while nothing that clang-tidy reads has changed: checks, options,
and the sources with all that they include, comments too.

Sources are read from standard input, a line each, as paths below the root.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

BATCH = 16

# How many states of one function the static analyser visits. Its own limit is 225,000, at which the dearest few functions take
# half of its time.
QUICK_NODES = 50000


class Checker:
    def __init__(self, build, cache, tools, nodes):
        self.root = os.getcwd() + "/"
        self.build = os.path.abspath(build)
        self.cache = cache
        self.tools = tools
        self.analyser = ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={nodes}"] if nodes else []
        self.options = {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                if entry["file"].startswith(self.root):
                    self.options[entry["file"][len(self.root):]] = self.options_of(entry)

    @staticmethod
    def options_of(entry):
        words = iter(shlex.split(entry["command"]))
        # Behind the compiler, before which there may be a launcher.
        for word in words:
            if word.endswith("++"):
                break
        options = []
        for word in words:
            if word == "-o":
                next(words)
            elif word not in ("-c", entry["file"]):
                options.append(word)
        return tuple(options)

    def batches(self, sources):
        """Those with any of the sources. Which sources stand together does not depend on which are asked for, so that what was
        clean is found again whatever else changes."""
        def key(source):
            return os.path.dirname(source), self.options[source]

        wanted = set(sources)
        for _, group in itertools.groupby(sorted(self.options, key=key), key):
            group = list(group)
            for start in range(0, len(group), BATCH):
                batch = group[start:start + BATCH]
                if wanted.intersection(batch):
                    yield batch

    def check(self, batch):
        """The report, empty where all is clean."""
        name = hashlib.sha256("\n".join(batch).encode()).hexdigest()[:16]
        path = os.path.join(self.build, "tidy", name + ".cc")
        starts = []  # (first line in the batch, source)
        line = 1
        with open(path, "w", encoding="utf-8") as file:
            for source in batch:
                with open(source, encoding="utf-8") as text:
                    content = text.read()
                starts.append((line, source))
                file.write(content)
                line += content.count("\n")
        options = self.options[batch[0]]
        key = self.key(path, options)
        if key and os.path.exists(os.path.join(self.cache, key)):
            return ""
        # The options are gcc's, which clang knows most of.
        done = subprocess.run(["clang-tidy-19", "--quiet", path, "--", *options, "-Wno-unknown-warning-option", *self.analyser],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0 and len(batch) > 1 and "[clang-diagnostic-" in done.stdout:
            return "".join(self.check([source]) for source in batch)
        if done.returncode != 0:
            return self.translated(done.stdout, path, starts) or done.stderr
        if key:
            with open(os.path.join(self.cache, key), "w", encoding="utf-8"):
                pass
        return ""

    def key(self, path, options):
        done = subprocess.run(["clang++-19", *options, "-E", "-CC", path], capture_output=True, check=False)
        if done.returncode != 0:
            return None
        text = "\n".join([self.tools, *options, *self.analyser]).encode() + done.stdout
        return hashlib.sha256(text.replace(self.root[:-1].encode(), b".")).hexdigest()

    def translated(self, report, path, starts):
        def place(match):
            line = int(match.group(1))
            first, source = max(start for start in starts if start[0] <= line)
            return f"{source}:{line - first + 1}:"

        return re.sub(re.escape(path) + r":(\d+):", place, report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, metavar="FOLDER", help="where compile_commands.json lies")
    parser.add_argument("--cache", required=True, metavar="FOLDER", help="which batches were clean")
    parser.add_argument("--thorough", action="store_true", help="the static analyser goes to its own limit in each function")
    arguments = parser.parse_args()
    sources = sys.stdin.read().split()
    os.makedirs(arguments.cache, exist_ok=True)
    os.makedirs(os.path.join(arguments.build, "tidy"), exist_ok=True)
    version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True, check=True).stdout
    with open(".clang-tidy", encoding="utf-8") as file:
        checker = Checker(arguments.build, arguments.cache, version + file.read(),
                          None if arguments.thorough else QUICK_NODES)
    failing = 0
    batches = list(checker.batches(sources))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(checker.check, batches):
            if report:
                failing += 1
                print(report, flush=True)
    print(f"{len(sources)} sources asked for, {sum(map(len, batches))} in {len(batches)} batches")
    if failing:
        print(f"error: clang-tidy finds something in {failing} batches")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
