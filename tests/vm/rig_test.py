# SPDX-License-Identifier: Apache-2.0
"""Tests the rig without a guest: apt sources of each format, the pins, replayed writes, the order of
cases."""

import os
import struct
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from rig import cache, case, disklog, inputs, runner  # noqa: E402
from tap import Tap  # noqa: E402

DEB822 = """Types: deb
# a comment between
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""
ONE_LINE = """# deb http://off.example/debian bookworm main
deb [arch=amd64 signed-by=/etc/key.gpg] http://mirror.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
"""


def test_sources(tap, work):
    for name, text, key in (("deb822", DEB822, "/usr/share/keyrings/debian-archive-keyring.gpg"),
                            ("one-line", ONE_LINE, "/etc/key.gpg")):
        apt = work / name
        (apt / "sources.list.d").mkdir(parents=True)
        (apt / "sources.list.d" / ("x.sources" if name == "deb822" else "x.list")).write_text(text)
        inputs.APT_SOURCES = apt
        found = inputs.mirrors()
        tap.equal(found["bookworm"], ("http://mirror.example/debian", key), f"{name}: the mirror and its key are found")
        tap.equal(found["trixie"], found["bookworm"], f"{name}: trixie uses the mirror of bookworm")
        rows = inputs.source_lines(["bookworm"])
        tap.equal(rows, [f"deb [signed-by={key}] http://mirror.example/debian bookworm {inputs.COMPONENTS}\n"],
                  f"{name}: the line for apt names the key and all components")
    tap.equal(inputs.mirrors().get("bookworm-security"), None, "a suite that the sources do not name is not found")
    inputs.APT_SOURCES = work / "nothing"
    try:
        inputs.mirrors()
        tap.ok(False, "sources without a mirror of bookworm are an error")
    except RuntimeError as error:
        tap.ok("bookworm" in str(error), "sources without a mirror of bookworm are an error", error)


def test_pins(tap):
    pins = inputs.pinned()
    tap.ok(all(len(pin.digest) == 64 for pin in pins), "every pin has a SHA-256")
    for version in ("535.261.03", "550.163.01"):
        tap.equal(len(inputs.driver(version)), 5, f"{version} has its five packages")


def write_log(path, entries):
    """Writes a log as QEMU does; each entry is (sector, data, flags)."""
    with open(path, "wb") as file:
        file.write(struct.pack("<QQQI", disklog.MAGIC, 1, len(entries), 512).ljust(512, b"\0"))
        for sector, data, flags in entries:
            file.write(struct.pack("<QQQQ", sector, len(data) // 512, flags, 0).ljust(512, b"\0") + data)


def test_lines(tap, work):
    first, second, third = b"0badc0de {1}\n", b"1" * 6000 + b"\n", b"2\n"
    content = first + second + third
    block = [content[:4096], content[4096:].ljust(4096, b"\0")]
    early = first.ljust(4096, b"\0")
    partly = content[4096:-2].ljust(4096, b"\0")
    write_log(work / "log", [(0, early, 0), (0, b"", disklog.FLUSH), (0, block[0], 0), (64, partly, 0), (0, b"", disklog.FLUSH),
                             (64, block[1], disklog.FUA)])
    tap.equal([position for _, position in disklog.DiskLog(work / "log").line_cuts(content)], [2, 5, 6],
              "a line that spans two writes is on the disk once both are flushed")


def test_replay(tap, work):
    record = b'0badc0de {"t_us":1,"type":"begin"}\n'
    block = [bytes([letter]) * 512 for letter in b"abcde"]
    write_log(work / "log", [(0, block[0], 0), (1, record.ljust(512, b"\0"), 0), (0, b"", disklog.FLUSH),
                             (2, block[2], 0), (3, block[3], disklog.FUA), (4, block[4], 0)])
    (work / "base").write_bytes(bytes(5 * 512))
    log = disklog.DiskLog(work / "log")
    tap.equal(len(log.entries), 6, "every entry of a log is read")
    tap.equal([position for _, position in log.line_cuts(record)], [3], "a line is on the disk once it is flushed")

    def cut(count, seed=None):
        content = log.cut(work / "base", work / "image", count, seed).read_bytes()
        return [content[n * 512] for n in (0, 2, 3, 4)]

    tap.equal(cut(2), [0, 0, 0, 0], "a cut before the flush loses all writes")
    tap.equal(cut(3), [97, 0, 0, 0], "a cut after the flush preserves the writes before it")
    tap.equal(cut(6), [97, 0, 100, 0], "a write with FUA is preserved, its neighbours are lost")
    outcomes = {tuple(cut(6, seed)) for seed in range(40)}
    tap.equal(outcomes, {(97, a, 100, b) for a in (0, 99) for b in (0, 101)}, "seeds produce every possible outcome")


def test_cache(tap, work):
    made = []

    def make(directory):
        made.append(directory)
        time.sleep(0.2)
        (directory / "file").write_text("content", encoding="ascii")

    def fail(_):
        raise OSError("no space")

    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(work)):
        with futures.ThreadPoolExecutor() as runs:
            found = {one.result() for one in [runs.submit(cache.entry, "kind", "name", make) for _ in range(3)]}
        tap.equal((len(found), len(made)), (1, 1), "runs that need an entry at once make it once")
        tap.equal((found.pop() / "file").read_text(encoding="ascii"), "content", "all of them get the complete entry")
        try:
            cache.entry("kind", "other", fail)
        except OSError:
            pass
        left = [path.name for path in (cache.root() / "kind").iterdir() if path.is_dir()]
        tap.equal(left, ["name"], "an entry that can't be made leaves no directory")


def test_cases(tap):
    with mock.patch.dict(os.environ):
        os.environ.pop("FULL", None)
        test_samples(tap)
        os.environ["FULL"] = "1"
        case.case("full", "fresh", full=True)(None)
        tap.equal(case.Sample(0).next_case({"fresh"}).name, "full", "FULL=1 runs every case without a limit")
    case.case("here", "fresh")(test_pins)
    case.case("elsewhere", "fresh")(tempfile.mkdtemp)
    case.restrict(lambda one: one.function.__module__ == test_pins.__module__)
    tap.equal([one.name for one in case.unreached()], ["here"], "only the cases of one module are left")
    for name, start, makes in (("a", "node", "made"), ("b", "made", "served"), ("c", "served", None), ("d", "made", "other"), ("e", "made", None)):
        case.case(name, start, makes=makes)(test_pins)
    case.restrict_to("c")
    tap.equal([one.name for one in case.unreached()], ["a", "b", "c"], "a case is left with those that make its state")
    case.remove("made")
    tap.equal(case.unreached(), [], "a removed state takes along what builds on it")


def test_samples(tap):
    case.add("late", None, "made")
    every = case.Sample(None)
    tap.equal(every.next_case({"fresh"}), None, "a case whose state was not made is not chosen")
    tap.equal(every.next_case({"fresh", "made"}).name, "late", "a case is chosen once its state was made")

    def order(seed, minutes=1):
        for name in "abcdef":
            case.add(name, None, "fresh")
        case.case("maker", "fresh", makes="made")(None)
        sample = case.Sample(minutes, seed=seed)
        names = []
        while one := sample.next_case({"fresh"}):
            names.append(one.name)
        return names, sample.left

    first = order(1)
    tap.ok(first[0][0] == "maker" and sorted(first[0][1:]) == list("abcdef") and not first[1], "with a limit cases that make a state run first, then the others", first)
    tap.equal(order(1), first, "the same seed gives the same order")
    tap.equal(order(1, None)[0], [*"abcdef", "maker"], "without a limit cases run in the order of registration")
    names, left = order(1, 0)
    tap.equal((names, left), (["maker"], first[0][1:]), "independent cases that do not fit are not run, and are named")
    for name in ("long", "unwanted"):
        case.case(name, "fresh", independent=True)(None)
    case.case("full", "fresh", full=True)(None)
    case.case("short", "fresh")(None)
    sample = case.Sample(0, wanted=lambda one: one.name != "unwanted")
    tap.equal((sample.next_case({"fresh"}).name, sample.next_case({"fresh"}), sample.left), ("short", None, ["long"]),
              "cases that are not wanted are neither run nor named")


def test_work_directory(tap, work):
    kept = work / "kept"
    tap.equal(runner.work_directory(kept), kept, "a work directory that does not exist is made")
    (kept / "disk.qcow2").touch()
    runner.work_directory(kept)
    tap.ok(not (kept / "disk.qcow2").exists(), "files of an earlier run are removed from a work directory")
    home = work / "home"
    home.mkdir()
    tap.equal(runner.work_directory(home), home, "an empty work directory is accepted")
    (home / runner.MADE_HERE).unlink()
    (home / "letter").touch()
    try:
        runner.work_directory(home)
        tap.ok(False, "a work directory with files of others is refused, they stay")
    except SystemExit:
        tap.ok((home / "letter").exists(), "a work directory with files of others is refused, they stay")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        test_sources(tap, Path(name))
        test_pins(tap)
        test_lines(tap, Path(name))
        test_replay(tap, Path(name))
        test_cache(tap, Path(name))
        test_work_directory(tap, Path(name))
    test_cases(tap)
    tap.done()


if __name__ == "__main__":
    main()
