# SPDX-License-Identifier: Apache-2.0
"""Reads the command blocks of a documentation page, runs them, and compares their output. HACKING.md, section
Documentation, has the rules for authors."""
import re
from dataclasses import dataclass, field

NOT_RUN = re.compile(r"\(Not run by the tests[^:]*: .+\)$")  # at the end of the paragraph before a block
ANY = "…"  # any text in a line; alone, any lines
TO_FILL = "OUTPUT"
WHERE = re.compile(r"<!-- test: (vm|cluster) ([a-z-]+) -->")
FENCE = re.compile(r"( *)```(.*)$")
FILE = re.compile(r"# (/[\w./@-]+)$")
RUN = ("console", "sh")
SHOWN = ("", "text", "json")
COMMAND = re.compile(r"[#$] (gpuhostctl|kubectl|systemctl|apt|apt-get) ")
SCRIPT = "set -e\n"  # begins the commands of a block without output
WRITTEN = ("ini", "yaml", "toml")
PROGRESS = re.compile(r"\d+/\d+ ")  # on a terminal these lines are a bar that disappears
# Text that differs from run to run, and what both sides have instead of it.
VARYING = [(re.compile(pattern), name) for pattern, name in (
    (r"--until @\d+", "--until @TIME"),
    (r"(\w{3} )?\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( ?[A-Z]+)?", "TIME"),
    (r"\b\w{3} \d\d \d\d:\d\d:\d\d\b", "TIME"),
    (r"\b\d\d:\d\d(:\d\d)?\b(?!\.)", "TIME"),
    (r"\b(\d+(\.\d+)? ?(us|ms|s|min|h|d|second|minute|hour|day)s?\b ?)+", "DURATION "),
    (r"\bjust now\b", "DURATION ago"),
    (r"\b(done|refused|failed) in DURATION", r"\1"),  # a short operation is printed without its time
    (r"\b\d+(\.\d+)? ?(B|KiB|MiB|GiB)(?!\w)", "SIZE"),
    (r"\b[0-9a-f]{12,64}…?", "HASH"),
    (r"\b(process|operation|pid|PID) \d+", r"\1 NUMBER"),
    (r"^ *\d+(?=  +\w)", "NUMBER"),  # the first column of a table
)]


@dataclass
class Command:
    text: str
    output: list = field(default_factory=list)  # lines; empty: the command must succeed
    line: int = 0    # of the output's first line in the page, from 0


@dataclass
class Block:
    kind: str        # console, sh, setup, file
    line: int        # of the fence in the page, from 1
    commands: list   # of Command; none for a file
    path: str = ""
    content: str = ""
    not_run: bool = False
    end: int = 0     # the line after the block, from 0


class BadPage(Exception):
    pass


def where(text):
    """Returns (suite, state) in which the page's blocks run; None if it has none to run."""
    found = WHERE.search(text)
    return (found[1], found[2]) if found else None


def paragraph_before(lines, index):
    """Returns the paragraph that ends directly before a line, with at most one empty line between them."""
    end = index
    if end and not lines[end - 1].strip():
        end -= 1
    begin = end
    while begin and lines[begin - 1].strip():
        begin -= 1
    return " ".join(" ".join(lines[begin:end]).split())


def transcript(lines, first):
    """Splits a transcript into commands. `first` is the page's line of lines[0], from 0."""
    commands = []
    continued = False
    for number, line in enumerate(lines):
        if continued or commands and not commands[-1].output and line.startswith("> "):
            commands[-1].text += "\n" + line.removeprefix("> ")
        elif line.startswith(("# ", "$ ")):
            commands.append(Command(line[2:], line=first + number + 1))
        elif not commands:
            raise BadPage(f"line {first + number + 1}: a transcript begins with a command")
        else:
            commands[-1].output.append(line)
            continue
        commands[-1].line = first + number + 1
        continued = line.endswith("\\")
    return commands


def read_block(kind, lines, begin, not_run):
    """`begin`: the page's line of lines[0], from 0."""
    if kind == "console":
        return Block(kind, begin, transcript(lines, begin), not_run=not_run)
    if kind in ("sh", "setup"):
        return Block(kind, begin, [Command(SCRIPT + "\n".join(lines))], not_run=not_run)
    if kind not in WRITTEN + SHOWN:
        raise BadPage(f"line {begin}: a block of the unknown kind '{kind}'")
    if kind in SHOWN and not not_run and any(map(COMMAND.match, lines)):
        raise BadPage(f"line {begin}: commands in a block of the kind '{kind}', which does not run")
    named = FILE.match(lines[0]) if kind in WRITTEN and lines else None
    return Block("file", begin, [], named[1], "\n".join(lines) + "\n") if named else None


def read_page(text):
    """Returns the page's blocks that run, write a file, or say that they do not run."""
    lines = text.splitlines()
    blocks = []
    index = 0
    while index < len(lines):
        fence = FENCE.match(lines[index])
        kind = "setup" if lines[index] == "<!-- test-setup" else fence[2] if fence else None
        if fence and fence[1]:
            raise BadPage(f"line {index + 1}: a block is indented")
        index += 1
        if kind is None:
            continue
        begin, end = index, "-->" if kind == "setup" else "```"
        while index < len(lines) and lines[index] != end:
            index += 1
        if index == len(lines):
            raise BadPage(f"line {begin}: the block has no end")
        not_run = NOT_RUN.search(paragraph_before(lines, begin - 1)) is not None
        block = read_block(kind, lines[begin:index], begin, not_run)
        index += 1
        if block:
            block.end = index
            blocks.append(block)
    return blocks


def masked(line):
    """Replaces what varies. Columns become single spaces, because their width varies."""
    for pattern, name in VARYING:
        line = pattern.sub(name, line)
    return " ".join(line.split())


def is_same(expected, actual):
    """Compares lines of a page with lines of a program."""
    pattern = ""
    for line in expected:
        if line.strip() == ANY:
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in masked(line).split(ANY)) + r"\n"
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in actual)) is not None


class Run:
    """Runs the blocks of a page in their order. `run(command)` returns (status, lines of output), `write(path,
    content)` writes a file, `tell(lines)` gets the text between blocks."""

    def __init__(self, text, run, write, tell=lambda lines: None):
        self.lines = text.splitlines()
        self.run, self.write = run, write
        self.faults = []
        self.changes = []  # (first line, count, new lines)
        told = 0
        for block in read_page(text):
            tell(self.lines[told:block.line - 1])
            told = block.end
            if not block.not_run and not self.run_block(block):
                break  # the next blocks build on it
        tell(self.lines[told:])

    def run_block(self, block):
        if block.kind == "file":
            self.write(block.path, block.content)
        return all(self.run_command(command, block.line) for command in block.commands)

    def run_command(self, command, line):
        """Returns false if the command failed and the page does not show that."""
        status, output = self.run(command.text)
        output = [row for row in output if not PROGRESS.match(row)]
        if status != 0 and all(row.strip() == ANY for row in command.output):
            self.faults.append(f"line {line}: status {status} of: {command.text}\n" + "\n".join(output))
            return False
        if command.output and not is_same(command.output, output):
            self.faults.append(f"line {command.line + 1}: other output of: {command.text}\n" + "\n".join(output))
            self.changes.append((command.line, len(command.output), output))
        return True

    def filled(self):
        """Returns the page with the real output."""
        lines = list(self.lines)
        for line, count, output in reversed(self.changes):
            lines[line:line + count] = output
        return "\n".join(lines) + "\n"
