# SPDX-License-Identifier: Apache-2.0
"""Checks that a program's manual page has exactly the verbs and options of its --help."""
import os
import re

from programs import environment, run
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap

COMMON = {"help", "version", "no-ask-password"}


def page(name):
    with open(os.path.join(TOP_SRCDIR, "man", name), encoding="utf-8") as file:
        return file.read()


def program_help(program, *words):
    return run([os.path.join(TOP_BUILDDIR, program), *words, "--help"], check=True,
               env=environment(COLUMNS="100", LC_ALL="C.UTF-8")).stdout


def options(text):
    """Returns {"json": "[=short|pretty]", …} from the lines that begin with an option."""
    return dict(re.findall(r"^\s+(?:-\w, +)?--([\w-]+)(\S*)", text, re.M))


def verbs(text):
    """Returns verbs: one or two words at a line's beginning. Arguments are in capitals; two blanks precede
    a summary."""
    return re.findall(r"^  ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(?= |$)", text, re.M)


def described(text):
    """Returns {"driver swap": options of its paragraph, …}; "Options as *X*" are those of X."""
    paragraphs = {verb: body for verb, body in re.findall(r"^\*([a-z][a-z -]*)\*[^\n]*\n((?:\t[^\n]*\n)+)", text, re.M)}

    def of(body):
        same = re.search(r"Options as \*([\w -]+)\*", body)
        return of(paragraphs[same.group(1)]) if same else set(re.findall(r"\*--([\w-]+)\*", body))
    return {verb: of(body) for verb, body in paragraphs.items()}


def spelled(text):
    """Returns the options of the OPTIONS section with their arguments: {"json": "[=short|pretty]", …}."""
    section = re.search(r"^# OPTIONS\n(.*?)^# ", text, re.M | re.S).group(1)
    lines = re.findall(r"^(\*-[^\n]*)$", section, re.M)
    return dict(pair for line in lines for pair in re.findall(r"--([\w-]+)([^\s,;]*)", re.sub(r"[*_]", "", line)))


def compare(help_options, help_verbs, text):
    """Returns the differences of --help and the page, as sentences."""
    there, problems = described(text), []
    for verb, wanted in help_verbs.items():
        if verb not in there:
            problems.append(f"verb '{verb}' is missing")
        elif there[verb] != wanted:
            problems.append(f"verb '{verb}': options {sorted(there[verb])} in the page, {sorted(wanted)} in --help")
    problems += [f"verb '{verb}' is not in --help" for verb in there if verb not in help_verbs]
    page_options = spelled(text)
    for option in sorted(set(help_options) | set(page_options)):
        if help_options.get(option) != page_options.get(option):
            problems.append(f"--{option}: '{page_options.get(option)}' in the page, '{help_options.get(option)}' in --help")
    return problems


def client():
    general = program_help("gpuhostctl")
    all_options, own = options(general), {}
    for verb in verbs(general):
        found = options(program_help("gpuhostctl", *verb.split()))
        all_options |= found
        own[verb] = set(found) - COMMON
    return all_options, own


def main():
    tap = Tap()
    all_options, own = client()
    text = page("gpuhostctl.1.scd")
    tap.ok(len(own) > 10 and len(all_options) > 5, "gpuhostctl --help has verbs and options", own, all_options)
    problems = compare(all_options, own, text)
    tap.ok(not problems, "gpuhostctl(1) has the verbs and options of gpuhostctl --help", *problems)
    problems = compare(options(program_help("gpuhostd")), {}, page("gpuhostd.8.scd"))
    tap.ok(not problems, "gpuhostd(8) has the options of gpuhostd --help", *problems)

    problems = compare(options(program_help("gpuhost-registry")), {}, page("gpuhost-registry.8.scd"))
    tap.ok(not problems, "gpuhost-registry(8) has the options of gpuhost-registry --help", *problems)

    lines = "  disk  of one word\n  image pull NAME  of two\n  image list       without arguments\n  -h, --help  no verb\n"
    tap.equal(verbs(lines), ["disk", "image pull", "image list"], "verbs of one and of two words are found in --help")
    verb = next(iter(own))
    tap.ok(compare(all_options | {"new": ""}, own, text), "the comparison refuses an option that the page lacks")
    tap.ok(compare(all_options, own | {"new verb": set()}, text), "the comparison refuses a verb that the page lacks")
    tap.ok(compare(all_options, own | {verb: own[verb] | {"new"}}, text), "the comparison refuses a verb's option that the page lacks")
    tap.ok(compare(all_options, own, text + "\n*gone*\n\tA verb.\n"), "the comparison refuses a verb that --help lacks")
    tap.done()


main()
