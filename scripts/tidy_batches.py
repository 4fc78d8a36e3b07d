#!/usr/bin/env python3
"""Runs clang-tidy-19 over sources, those of neighbouring folders together, and prints what it finds in each.

Most of what clang-tidy does for one source is to parse headers and to match its checks against them: half a minute, whether one
source follows or twenty. A batch is their texts one after another, which is the main file for every check, so that the static
analyser looks at all functions; places in reports are those in the sources. Sources that do not compile together are checked
by folder, and one by one where even those do not. A batch that was found clean is not checked again while nothing that clang-tidy reads has changed: checks, options,
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
import time

BATCH = 24

# What stands at the beginning of a line, in formatted sources, is of a namespace: what it defines is the last name before "(", "=", "{" or ";".
DEFINED = re.compile(r"^(?=[A-Za-z\[])(?!using |namespace |extern |template)[\w:<>,&*\[\] ]*?(?<![:\w])(\w+)(?:<[^()]*>)?(?: ?[(={;]| :)", re.MULTILINE)


def names_in(source):
    if not os.path.exists(source):  # made by the build
        return set()
    with open(source, encoding="utf-8") as file:
        return set(DEFINED.findall(file.read())) - {"plimsoll"}


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
        options = []  # each a tuple of its words
        for word in words:
            if word == "-o":
                next(words)
            elif word in ("-isystem", "-include"):
                options.append((word, next(words)))
            elif word not in ("-c", entry["file"]):
                options.append((word,))
        return options

    def batches(self, sources):
        """Each folder's sources go to the first batch with room for them and none of their names: sources of one folder have names of
        their own, since they are compiled together."""
        open_batches = []  # (sources, names)
        for _, group in itertools.groupby(sorted(sources), os.path.dirname):
            folder = list(group)
            for start in range(0, len(folder), BATCH):
                part = folder[start:start + BATCH]
                names = set().union(*map(names_in, part))
                for batch, known in open_batches:
                    if len(batch) + len(part) <= BATCH and not names & known:
                        batch += part
                        known |= names
                        break
                else:
                    open_batches.append((part, names))
        return [batch for batch, _ in open_batches]

    def options_of_batch(self, batch):
        """Those of all its sources: definitions and folders of headers."""
        return [word for option in dict.fromkeys(option for source in batch for option in self.options[source]) for word in option]

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
        options = self.options_of_batch(batch)
        key = self.key(path, options)
        if key and os.path.exists(os.path.join(self.cache, key)):
            return ""
        # The options are gcc's, which clang knows most of.
        done = subprocess.run(["clang-tidy-19", "--quiet", path, "--", *options, "-Wno-unknown-warning-option", *self.analyser],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0 and len(batch) > 1 and "[clang-diagnostic-" in done.stdout:
            folders = [list(folder) for _, folder in itertools.groupby(batch, os.path.dirname)]
            return "".join(map(self.check, folders if len(folders) > 1 else [[source] for source in batch]))
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
    parser.add_argument("--deadline", type=int, default=sys.maxsize, metavar="SECONDS",
                        help="since 1970: batches that have not begun by then are left out and named")
    arguments = parser.parse_args()
    sources = sys.stdin.read().split()
    os.makedirs(arguments.cache, exist_ok=True)
    os.makedirs(os.path.join(arguments.build, "tidy"), exist_ok=True)
    version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True, check=True).stdout
    with open(".clang-tidy", encoding="utf-8") as file:
        checker = Checker(arguments.build, arguments.cache, version + file.read(),
                          None if arguments.thorough else QUICK_NODES)
    failing = 0
    left_out = []

    def check_in_time(batch):
        return checker.check(batch) if time.time() < arguments.deadline else None

    batches = list(checker.batches(sources))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, report in zip(batches, pool.map(check_in_time, batches)):
            if report is None:
                left_out += batch
            elif report:
                failing += 1
                print(report, flush=True)
    print(f"{len(sources)} sources in {len(batches)} batches")
    if left_out:
        print(f"no time was left for {len(left_out)} of them: {' '.join(left_out)}")
    if failing:
        print(f"error: clang-tidy finds something in {failing} batches")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
