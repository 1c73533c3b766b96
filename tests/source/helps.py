# SPDX-License-Identifier: Apache-2.0
"""Checks that a program's manual page has exactly the verbs and options of its --help. Each noun of
gpuhostctl has a page."""
import glob
import os
import re

from programs import environment, run
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap

COMMON = {"help", "version", "quiet", "no-legend", "no-pager", "no-ask-password"}
MAIN = "gpuhostctl.1.scd"
NOUNS = {"inventory": "bundle"}  # nouns that share the page of another
ALONE = {"dashboard", "upgrade"}  # verbs without a noun that have a page


def page(name):
    with open(os.path.join(TOP_SRCDIR, "man", name), encoding="utf-8") as file:
        return file.read()


def page_of(verb):
    noun, _, name = verb.partition(" ")
    return f"gpuhostctl-{NOUNS.get(noun, noun)}.1.scd" if name or noun in ALONE else MAIN


def pages():
    paths = glob.glob(os.path.join(TOP_SRCDIR, "man", "gpuhostctl*.1.scd"))
    return {os.path.basename(path): page(os.path.basename(path)) for path in paths}


def program_help(program, *words):
    return output_of(program, *words, "--help")


def output_of(program, *words):
    return run([os.path.join(TOP_BUILDDIR, program), *words], check=True,
               env=environment(COLUMNS="100", LC_ALL="C.UTF-8")).stdout


def options(text):
    """Returns {"json": "[=short|pretty]", …} from the lines that begin with an option."""
    return dict(re.findall(r"^\s+(?:-\w, +)?--([\w-]+)(\S*)", text, re.M))


def verbs(text):
    """Returns verbs: one or two words at a line's beginning. Arguments are in capitals; two blanks precede
    a summary."""
    return re.findall(r"^  ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(?= |$)", text, re.M)


def usage(text):
    return re.match(r"Usage: gpuhostctl ([^\n]*)", text)[1]


def plain(text):
    return re.sub(r"[*_]", "", text).replace("\\", "")


def spelled(text):
    """Returns the options that are described, with their arguments: {"json": "[=short|pretty]", …}."""
    lines = re.findall(r"^(\*-[^\n]*)$", text, re.M)
    return dict(pair for line in lines for pair in re.findall(r"--([\w-]+)([^\s,;]*)", plain(line)))


def section(text, head):
    found = re.search(rf"^# {head}\n(.*?)(?=^# [A-Z]|\Z)", text, re.M | re.S)
    return found[1] if found else ""


def described(text):
    """Returns {"driver swap": ("driver swap [OPTION…] VERSION", its options), …} from the subsections of
    verbs."""
    found = re.findall(r"^## ([a-z][a-z -]*)\n\n\*gpuhostctl ([^\n]*)\n(.*?)(?=^##? |\Z)", section(text, "VERBS"), re.M | re.S)
    return {verb: (plain(synopsis), spelled(body)) for verb, synopsis, body in found}


def compare(own, common, texts):
    """Returns the differences of --help and the pages, as sentences. `own`: {verb: (usage, its options)}."""
    there = {name: described(text) for name, text in texts.items()}
    problems = []
    for verb, wanted in own.items():
        name = page_of(verb)
        found = there.get(name, {}).get(verb)
        if found is None:
            problems.append(f"verb '{verb}' is missing in {name}")
        elif found != wanted:
            problems.append(f"verb '{verb}': {found} in {name}, {wanted} in --help")
    problems += [f"verb '{verb}' of {name} is not in --help" for name, verbs_there in there.items()
                 for verb in verbs_there if verb not in own or page_of(verb) != name]
    shared = spelled(section(texts[MAIN], "COMMON OPTIONS"))
    problems += [f"common option --{option} is not in {MAIN}" for option, argument in common.items() if shared.get(option) != argument]
    return problems + [f"{name} is not in the table of {MAIN}" for name in texts
                       if name != MAIN and f"*{name.partition('.')[0]}*(1)" not in section(texts[MAIN], "VERBS")]


def compare_examples(known, texts):
    """Returns pages without examples, and examples of unknown verbs, as sentences."""
    for name, text in texts.items():
        commands = re.findall(r"^[$#] gpuhostctl ([^\n]*)$", section(text, "EXAMPLES"), re.M)
        if not commands:
            yield f"{name} has no example"
        for command in commands:
            if not any((command + " ").startswith(verb + " ") for verb in known):
                yield f"{name}: no verb in '{command}'"


def compare_options(wanted, text):
    found = spelled(section(text, "OPTIONS"))
    return [f"--{option}: '{found.get(option)}' in the page, '{wanted.get(option)}' in --help"
            for option in sorted(set(wanted) | set(found)) if wanted.get(option) != found.get(option)]


def client():
    general = output_of("gpuhostctl", "help", "--all")
    own = {}
    for verb in verbs(general):
        text = program_help("gpuhostctl", *verb.split())
        own[verb] = (usage(text), {name: argument for name, argument in options(text).items() if name not in COMMON})
    return own, {name: argument for name, argument in options(general).items() if name in COMMON}


def main():
    tap = Tap()
    own, common = client()
    texts = pages()
    tap.ok(len(own) > 10 and set(common) == COMMON, "gpuhostctl --help has verbs and options", own, common)
    problems = compare(own, common, texts)
    tap.ok(not problems, "the pages of gpuhostctl have the verbs and options of --help", *problems)
    problems = list(compare_examples(own, texts))
    tap.ok(not problems, "the pages of gpuhostctl have examples of known verbs", *problems)
    for program, name in (("gpuhostd", "gpuhostd.8.scd"), ("gpuhost-registry", "gpuhost-registry.8.scd"), ("gpuhost-exporter", "gpuhost-exporter.8.scd"),
                          ("gpuhost-devices", "gpuhost-devices.8.scd")):
        problems = compare_options(options(program_help(program)), page(name))
        tap.ok(not problems, f"{program}(8) has the options of {program} --help", *problems)

    lines = "  disk  of one word\n  image pull NAME  of two\n  image list       without arguments\n  -h, --help  no verb\n"
    tap.equal(verbs(lines), ["disk", "image pull", "image list"], "verbs of one and of two words are found in --help")
    verb = "driver swap"
    with_option = (own[verb][0], own[verb][1] | {"new": ""})
    gone = texts[page_of(verb)].replace("# VERBS\n", "# VERBS\n\n## driver gone\n\n*gpuhostctl driver gone*\n")
    tap.ok(compare(own, common | {"new": ""}, texts), "the comparison refuses a common option that the page lacks")
    tap.ok(compare(own | {"driver new": ("driver new", {})}, common, texts), "the comparison refuses a verb that the page lacks")
    tap.ok(compare(own | {verb: with_option}, common, texts), "the comparison refuses a verb's option that the page lacks")
    tap.ok(compare(own | {verb: (verb, own[verb][1])}, common, texts), "the comparison refuses another synopsis")
    tap.ok(compare(own, common, texts | {page_of(verb): gone}), "the comparison refuses a verb that --help lacks")
    tap.ok(compare(own, common, texts | {MAIN: texts[MAIN].replace("# VERBS\n", "# VERBS\n\n## driver list\n\n*gpuhostctl driver list*\n")}),
           "the comparison refuses a verb in the page of another noun")
    tap.ok(compare(own, common, texts | {"gpuhostctl-new.1.scd": ""}), "the comparison refuses a page that the table lacks")
    examples = "# EXAMPLES\n\n```\n$ gpuhostctl driver gone 1.2\n```\n"
    tap.ok(list(compare_examples(own, {"a": examples})), "the comparison refuses an example of an unknown verb")
    tap.ok(list(compare_examples(own, {"a": ""})), "the comparison refuses a page without examples")
    tap.done()


main()
