#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_site.py SRCDIR OUTPUT MANPAGE...: makes the site of mkdocs.yml, docs/ and the manual pages.
$MKDOCS and $MANDOC name the programs."""
import html
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from urllib.parse import unquote

COPIED = (".md", ".json", ".png", ".svg")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`|\[[^\]\n]*\]\([^)\n]*\)|^#.*$)", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
FENCED = re.compile(r"(^```.*?^```$)", re.M | re.S)
BEFORE_LIST = re.compile(r"^(?!(?:[-*]|\d+\.) )(\S.*\n)(?=(?:-|1\.) )", re.M)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def title(page):
    """Returns "gpuhostd.conf(5)" for man/gpuhostd.conf.5."""
    return "{}({})".format(*os.path.basename(page).rsplit(".", 1))


def mentions(pages):
    """Returns a pattern of the pages' names in text; [name, section]."""
    names = "|".join(sorted((re.escape(os.path.basename(page).rsplit(".", 1)[0]) for page in pages), reverse=True))
    return re.compile(rf"(?<![\w.-])({names})\((\d)\)") if names else re.compile(r"(?!)()()")


def linked(text, page, names):
    """Turns names of manual pages into links, but not in code, headings and links."""
    folder = posixpath.dirname(page)
    target = lambda found: posixpath.relpath(f"reference/man/{found[1]}.{found[2]}.md", folder or ".")
    parts = CODE.split(text)
    parts[::2] = [names.sub(lambda found: f"[{found[0]}]({target(found)})", part) for part in parts[::2]]
    return "".join(parts)


def with_lists(text):
    """Adds the empty line that mkdocs needs between a paragraph and its list."""
    parts = FENCED.split(text)
    parts[::2] = [BEFORE_LIST.sub(r"\1\n", part) for part in parts[::2]]
    return "".join(parts)


def manual_page(page):
    """Returns a manual page as Markdown: its headings, and between them HTML."""
    text = subprocess.run([os.environ.get("MANDOC") or "mandoc", "-T", "html", "-O", "fragment", page],
                          check=True, capture_output=True, encoding="utf-8").stdout
    text = re.sub(r"<table class=\"(head|foot)\">.*?</table>\n?", "", text, flags=re.S)
    text = re.sub(r"^</?section[^>]*>\n|^<div class=\"manual-text\">\n|</div>\s*\Z", "", text, flags=re.M)
    heading = lambda found: f"\n{'#' * (int(found[1]) + 1)} {html.unescape(re.sub('<[^>]*>', '', found[2])).replace(chr(10), ' ')}\n"
    text = re.sub(r"<h([12])[^>]*>(.*?)</h\1>", heading, text, flags=re.S)
    text = re.sub(r"<p class=\"Pp\">\s*</p>\n?", "", text).replace("\u2022", "\u2022 ").replace("&#x2022;", "&#x2022; ")
    return f"# {title(page)}\n{text}"


def linked_html(text, names):
    """Turns <b>NAME</b>(N) into links. They are HTML, so they name the pages of the site."""
    bold = re.compile(r"<b>([\w.-]+)</b>\((\d)\)")
    return bold.sub(lambda found: f'<a href="{found[1]}.{found[2]}.html">{found[1]}({found[2]})</a>'
                    if names.fullmatch(f"{found[1]}({found[2]})") else found[0], text)


def stage(source, pages, directory):
    """Writes what mkdocs reads."""
    names = mentions(pages)
    write(os.path.join(directory, "mkdocs.yml"), read(os.path.join(source, "mkdocs.yml")))
    docs = os.path.join(source, "docs")
    for folder, _, files in os.walk(docs):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), docs)
            if (name.endswith(COPIED) or path.startswith("examples" + os.sep)) and not path.startswith("html" + os.sep):
                target = os.path.join(directory, "docs", path)
                if name.endswith(".md"):
                    write(target, linked(with_lists(COMMENT.sub("", read(os.path.join(docs, path)))), path, names))
                else:
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(os.path.join(docs, path), target)
    for page in pages:
        write(os.path.join(directory, "docs/reference/man", os.path.basename(page) + ".md"), linked_html(manual_page(page), names))


def without_credits(text):
    """Removes the sentence of mkdocs' themes that links elsewhere."""
    return re.sub(r"(Documentation b|B)uilt with <a .*", "", text)


class Links(HTMLParser):
    """Collects what a page links to or loads, and the places in it that links can name."""

    def __init__(self, text):
        super().__init__()
        self.urls, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.urls += [given[name] for name in ("href", "src") if given.get(name)]
        self.places.update(given[name] for name in ("id", "name") if given.get(name))


def pages_of(output):
    """Returns {path: text} of the HTML; 404.html is for a web server's root."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(output) for name in names)
    return {os.path.relpath(path, output): read(path) for path in paths if path.endswith(".html") and not path.endswith("404.html")}


def problems(output):
    """Yields links to nothing and to elsewhere."""
    pages = {path: Links(text) for path, text in pages_of(output).items()}
    for path, page in sorted(pages.items()):
        for url in page.urls:
            file, _, place = url.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(file))) if file else path
            if re.match(r"\w+:|//", url):
                yield f"{path}: link to elsewhere: {url}"
            elif not os.path.exists(os.path.join(output, target)):
                yield f"{path}: dead link: {url}"
            elif place and target in pages and unquote(place) not in pages[target].places:
                yield f"{path}: no such place in the page: {url}"


def main(source, output, *manuals):
    with tempfile.TemporaryDirectory() as directory:
        stage(source, manuals, directory)
        built = subprocess.run([os.environ.get("MKDOCS") or "mkdocs", "build", "--strict", "--clean", "--site-dir", os.path.abspath(output),
                                "--config-file", os.path.join(directory, "mkdocs.yml")],
                               stderr=subprocess.PIPE, encoding="utf-8", check=False)
    for path, text in pages_of(output).items():
        write(os.path.join(output, path), without_credits(text))
    found = list(problems(output))
    unlisted = re.findall(r"not included in the \"nav\".*\n((?:  - .*\n)*)", built.stderr)
    found += [f"not in nav: of mkdocs.yml: {name}" for names in unlisted for name in re.findall(r"^  - (.*)", names, re.M)]
    if built.returncode or found:
        sys.stderr.write(built.stderr + "".join(line + "\n" for line in found))
    return 1 if built.returncode or found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
