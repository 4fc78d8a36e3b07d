#!/usr/bin/env python3
"""Finds words and forms in user-visible text that cost a reader a second reading, and says what to write instead.

Searched are docs and README, comments and text of configuration files and units, what scripts print, and string literals in the
sources of programs. Docs must also end their lines before 120 characters outside tables and code, and name the command in the
heading of each view. Prints PATH:LINE: "WORDS": INSTEAD; exits 1 where it found something.
"""

import re
import subprocess
import sys

SOURCES = ("appprof", "base", "capture", "cli", "config", "daemon", "diagnosis", "elf", "formats", "http", "proto", "query", "scheduler", "server", "store", "symbolizer", "traces")

MAX_LINE = 120

# A pattern (case-insensitive) and what to write instead.
WORDS = [
    (r"\b(he|him|his|himself|she|her|hers)\b", "the user, the caller, the client, the process"),
    (r"\b(some|any|every)body('s)?\b", "a user, any user, all callers; a machine"),
    (r"\bnobody('s)?\b", "no user, no machine, unauthenticated, unused, unknown"),
    (r"\bwho(so)?ever\b", "the caller that; any client that"),
    (r"\bwhom\b", "a noun with which or that"),
    (r"\b(asked|asks?) who\b", "authenticate, authenticated"),
    (r"\bwho (he|it|they|somebody) (is|are)\b", "authenticate, identity"),
    (r"\b(who is|are|is|was|be) let (in|alone)\b", "authenticated, authorized; skipped, paused"),
    (r"\blet in\b", "admitted, authorized"),
    (r"\blikewise\b", "repeat the noun"),
    (r"\bthe same of\b", "repeat the noun"),
    (r"\b(that|those|these|this) of (then|before|which)\b", "at that time; the previous one"),
    (r"\bof then\b", "at that time"),
    (r"\b(machines?|daemons?|servers?|files?|profiles?|headers?) (hears?|tells?|told)\b", "receives, reports, contains"),
    (r"\b(have|has|had) told\b", "reported"),
    (r"\b(not|un)? ?heard (of|from)\b", "offline, last seen"),
    (r"\breckon(s|ed|ing)?\b", "compute, account, count"),
    (r"\bit is (not )?(said|told|known)\b", "what is missing; unknown"),
    (r"\b(are|is) said to\b", "is marked, counts as"),
    (r"\bat (the )?(least|most) of each\b", "min per, max per"),
    (r"(?-i:(?:^|[.;] )Of each)\b|\b(least|most|fewest) of each\b", "per"),
    (r"\bmost_[a-z]|\bleast_[a-z]|_(least|most)\b", "max_, min_"),
    (r"\bthe least that\b|\bleast possible\b", "the minimum"),
    (r"\bfor want of\b", "because ... is missing; too little"),
    (r"\bstands? beside\b", "is listed with, cannot be combined with"),
    (r"\bof its own accord\b", "automatically"),
    (r"\bwhat is (more|let)\b", "the excess; requests over it"),
    (r"\bwhat becomes of\b|\bwhat became of\b", "the result of, the state of, the outcome of"),
    (r"\bby what part\b", "by which share"),
    (r"\b(makes?|made) (itself|themselves) known\b", "register, enrol"),
    (r"\bis kept nowhere\b", "is not stored"),
    (r"\bcounts? no more\b", "expires, is no longer valid"),
    (r"\bno more than that\b", "at most that"),
    (r"\bsome of the machines that are meant\b", "matching machines"),
    (r"\b(is|are) meant\b", "matching, selected"),
    (r"\blaid to\b|\bto blame\b", "caused by"),
    (r"\bhow (it|they) come(s)? out\b", "the result"),
    (r"\bhow far it is\b", "progress"),
    (r"\b(gives?|give) (itself|himself|themselves) (up|away)\b", "fails, exits"),
    (r"\bmend(s|ed|ing)?\b", "fix, repair, correct"),
    (r"\bin (the )?place of\b", "instead of"),
    (r"\bis (to be|to have)\b(?! seen)", "must be, must have"),
    (r"\bare to be\b", "must be"),
    (r"\bthere is no such\b", "no such"),
    (r"\bthat there is\b(?! no)", "that exists, available"),
    (r"\bthat there are\b(?! no)", "that exist, available"),
    (r"\bleft out as\b", "omitted because"),
    (r"\bbecame \d+ rows\b", "stored ... (N rows)"),
    (r"\bit tells\b|\btells? (apart|from chance)\b|\btold apart\b", "distinguish, detect"),
    (r"\btelling\b", "reporting, saying"),
]
PATTERNS = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in WORDS]

# Exact text of others' formats and names that only looks like a finding.
EXEMPT = re.compile(r"https?://\S+|`[^`]*`")

# Documents with a heading for each view, which names its command.
VIEWS_DOCS = ("docs/querying.md", "docs/views.md")


def tracked_files():
    return subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")


def doc_lines(text):
    """Lines of Markdown outside code blocks, as (number, line, is_table)."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, line, line.startswith("|")


STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|//|/\*')
RAW_START = re.compile(r'R"([a-z]*)\(')


def literals(text):
    """String literals of C++ source, as (number, text); fragments that follow each other are one, on the first line of them."""
    joined, first, last_end = "", 0, -1
    raw_end = None
    for number, line in enumerate(text.split("\n"), 1):
        if raw_end is not None:
            end = line.find(raw_end)
            yield number, line if end < 0 else line[:end]
            if end >= 0:
                raw_end = None
            continue
        if line.lstrip().startswith(("#include", "//")):
            continue
        raw = RAW_START.search(line)
        if raw:
            raw_end = ")" + raw.group(1) + '"'
            rest = line[raw.end():]
            if raw_end in rest:
                yield number, rest[: rest.find(raw_end)]
                raw_end = None
            else:
                yield number, rest
            continue
        for match in STRING.finditer(line):
            if match.group(1) is None:
                break
            only_space_between = not line[: match.start()].strip()
            if joined and only_space_between and number == last_end + 1:
                joined += match.group(1)
            else:
                if joined:
                    yield first, joined
                joined, first = match.group(1), number
            last_end = number if not line[match.end():].strip() else -1
    if joined:
        yield first, joined


def hash_comments(text):
    """Lines of TOML, unit files and scripts: comments and all that stands in quotation marks."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("#", ";")):
            yield number, line
        else:
            for match in re.finditer(r'"([^"]*)"|\'([^\']*)\'', line):
                yield number, match.group(1) or match.group(2) or ""


def report(path, number, words, instead):
    print(f'{path}:{number}: "{words.strip()}": {instead}')


def check_text(path, numbered_texts):
    found = 0
    for number, text in numbered_texts:
        plain = EXEMPT.sub("", text.replace("\\n", " "))
        for pattern, instead in PATTERNS:
            for match in pattern.finditer(plain):
                report(path, number, match.group(0), f"write {instead}")
                found += 1
    return found


def check_doc(path, text):
    lines = list(doc_lines(text))
    # Paragraphs are checked as one, since phrases wrap: each line with the next one's first words.
    wrapped = []
    for at, (number, line, _) in enumerate(lines):
        follows = at + 1 < len(lines) and lines[at + 1][0] == number + 1
        wrapped.append((number, line, lines[at + 1][1].strip() if follows else ""))
    found = 0
    for number, line, following in wrapped:
        plain = EXEMPT.sub("", line)
        both = plain + " " + EXEMPT.sub("", following)
        for pattern, instead in PATTERNS:
            for match in pattern.finditer(both):
                if match.start() < len(plain):
                    report(path, number, match.group(0), f"write {instead}")
                    found += 1
    for number, line, is_table in lines:
        if len(line) > MAX_LINE and not is_table:
            report(path, number, f"{len(line)} characters", f"break lines before {MAX_LINE}")
            found += 1
    return found


def check_view_headings(path, text, commands):
    """Each view is described below a heading that names its command."""
    named = set()
    for _, line, _ in doc_lines(text):
        if line.startswith("#"):
            named.update(re.findall(r"`(?:plimsoll )?([a-z]+)[^`]*`", line))
    missing = sorted(commands - named)
    for command in missing:
        report(path, 1, command, f'write a heading that ends in "(`{command}`)"')
    unnamed = []
    if path == "docs/views.md":  # a heading per view, and nothing else
        unnamed = [(number, line) for number, line, _ in doc_lines(text)
                   if line.startswith("## ") and not re.search(r"\(`plimsoll [^`]+`\)$", line)]
    for number, line in unnamed:
        report(path, number, line, 'end the heading with "(`plimsoll COMMAND`)"')
    return len(missing) + len(unnamed)


def view_commands():
    """Commands that show views, by their routes' files."""
    names = set()
    for path in tracked_files():
        match = re.fullmatch(r"query/views/([a-z]+)\.h", path)
        if match:
            names.add(match.group(1))
    return names - {"ratio", "collection", "measure", "audit"}


def main():
    found = 0
    for path in tracked_files():
        folder = path.split("/")[0]
        if path.endswith(".md"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            found += check_doc(path, text)
            if path in VIEWS_DOCS:
                found += check_view_headings(path, text, view_commands())
        elif path.endswith((".cc", ".h")) and folder in SOURCES:
            with open(path, encoding="utf-8") as file:
                found += check_text(path, literals(file.read()))
        elif (path.endswith((".toml", ".service")) or folder == "scripts") and not path.endswith("check_words.py"):
            with open(path, encoding="utf-8") as file:
                found += check_text(path, hash_comments(file.read()))
    if found:
        print(f"{found} places")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
