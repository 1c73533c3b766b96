# SPDX-License-Identifier: Apache-2.0
"""Checks the mechanical part of HACKING.md's style page in comments and names of unit tests."""
import re

from sources import main

SOURCE = re.compile(r"(daemon|images|kmod|tests/unit)/.*\.[ch]pp$")
COMMENT = re.compile(r"^\s*(//[/!]?)<?\s?(.*)$")
TRAILING = re.compile(r"///<\s?(.*)$")
OPENING = re.compile(r"(?:^|[.!?]\s+)((?:Of|What|Who|Whose|Where|That)\b[^.]*)")
TABLE = re.compile(r"\s*//[/!]? \|")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
COLUMNS = 110
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
WORD = re.compile(r"[A-Z][a-z0-9]*|[A-Z]+(?![a-z])")
TEST_WORDS = 8


def comments(text):
    """Yields (line number, comment as one line) of each block of comment lines and of each trailing
    comment."""
    start, words = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        whole, trailing = COMMENT.match(line), TRAILING.search(line)
        if whole and whole[2].strip():
            start, words = start or number, words + [whole[2].strip()]
            continue
        if words:
            yield start, " ".join(words)
            start, words = 0, []
        if trailing and not whole:
            yield number, trailing[1]
    if words:
        yield start, " ".join(words)


def sources(tree):
    return ((path, text) for path, text in tree.items() if SOURCE.match(path))


def opening_rule(tree):
    for path, text in sources(tree):
        for number, comment in comments(text):
            if found := OPENING.search(comment):
                yield f"{path}:{number}: begins with '{found[1][:60]}'"


def is_no_rule(tree):
    for path, text in sources(tree):
        for number, comment in comments(text):
            if found := re.search(r"\b(is|are) no (?!longer\b)\w+", re.sub(r"\bthere (is|are) no\b", "", comment, flags=re.I)):
                yield f"{path}:{number}: '{found[0]}'"


def message_rule(tree):
    """The same for the messages that a person reads: all string literals of the programs."""
    for path, text in sources(tree):
        if path.startswith("tests/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for literal in STRING.findall(line):
                if found := re.search(r"\b(is|are) no (?!longer\b)\w+", re.sub(r"\bthere (is|are) no\b", "", literal, flags=re.I)):
                    yield f"{path}:{number}: '{found[0]}'"


def width_rule(tree):
    for path, text in sources(tree):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS and COMMENT.match(line) and not TABLE.match(line):
                yield f"{path}:{number}: {len(line)} columns"


def broken_rule(tree):
    for path, text in sources(tree):
        lines = text.splitlines()
        for number, (before, line) in enumerate(zip(lines, lines[1:]), 2):
            code = before.split("//")[0].rstrip()
            if "///<" in line and line.split("///<")[0].strip() and code and code[-1] not in ";{},:":
                yield f"{path}:{number}: the comment breaks its declaration; put it above"


def test_name_rule(tree):
    for path, text in tree.items():
        for suite, name in TEST.findall(text) if path.startswith("tests/unit/") else []:
            if (words := len(WORD.findall(name))) > TEST_WORDS:
                yield f"{path}: {suite}.{name} has {words} words"


main(
    ("no sentence of a comment begins with Of, What, Who, Whose, Where or That", opening_rule, {
        "a doc comment": {"kmod/a.hpp": "/// What a module needs.\nint a;\n"},
        "a second sentence on a second line": {"kmod/a.cpp": "// Loads it.\n// Where it is\n// loaded, does nothing.\n"},
        "a trailing comment": {"kmod/a.hpp": "int a; ///< Of all GPUs.\n"},
    }),
    ("comments use 'is not a' instead of 'is no'", is_no_rule, {
        "'is no'": {"kmod/a.cpp": "// A link is no file.\n"},
    }),
    ("messages say 'is not a', not 'is no'", message_rule, {
        "is no": {"kmod/a.cpp": 'fail("a link is no file");\n'},
    }),
    (f"comments have at most {COLUMNS} columns", width_rule, {
        "a long line": {"kmod/a.cpp": "// " + "word " * 30 + "\n"},
    }),
    ("no trailing comment breaks a declaration", broken_rule, {
        "a trailing comment in the middle of a declaration": {"kmod/a.hpp": "std::string\n    name; ///< of the module\n"},
    }),
    (f"names of unit tests have at most {TEST_WORDS} words", test_name_rule, {
        "a long name": {"tests/unit/a_test.cpp": "TEST(Load, ModuleThatIsLoadedAlreadyIsNotLoadedAgain) {\n}\n"},
        "one on its own line": {"tests/unit/a_test.cpp": "TEST_F(Load,\n       EachOfTheModulesOfTheSetIsLoadedInOrder) {\n}\n"},
    }),
)
