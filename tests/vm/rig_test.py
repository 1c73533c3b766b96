# SPDX-License-Identifier: Apache-2.0
"""The rig's own logic, without a guest: apt sources of every form, the pins, replayed writes, the order of cases."""

import os
import struct
import sys
import tempfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from rig import case, disklog, inputs, runner  # noqa: E402
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
        tap.equal(found["bookworm"], ("http://mirror.example/debian", key), f"{name}: the mirror and its key")
        tap.equal(found["trixie"], found["bookworm"], f"{name}: the other release comes from the same mirror")
        rows = inputs.source_lines(["bookworm"])
        tap.equal(rows, [f"deb [signed-by={key}] http://mirror.example/debian bookworm {inputs.COMPONENTS}\n"],
                  f"{name}: the line that apt gets")
    tap.equal(inputs.mirrors().get("bookworm-security"), None, "a suite that is not there is not made up")
    inputs.APT_SOURCES = work / "nothing"
    try:
        inputs.mirrors()
        tap.ok(False, "no mirror is an error")
    except RuntimeError as error:
        tap.ok("bookworm" in str(error), "no mirror is an error", error)


def test_pins(tap):
    pins = inputs.pinned()
    tap.ok(all(len(pin.digest) == 64 for pin in pins), "every pin has a SHA-256")
    for version in ("535.261.03", "550.163.01"):
        tap.equal(len(inputs.driver(version)), 5, f"{version} has its five packages")


def write_log(path, entries):
    """A log of writes as QEMU makes it: (sector, data, flags)."""
    with open(path, "wb") as file:
        file.write(struct.pack("<QQQI", disklog.MAGIC, 1, len(entries), 512).ljust(512, b"\0"))
        for sector, data, flags in entries:
            file.write(struct.pack("<QQQQ", sector, len(data) // 512, flags, 0).ljust(512, b"\0") + data)


def test_replay(tap, work):
    record = b'0badc0de {"t_us":1,"type":"begin"}\n'
    block = [bytes([letter]) * 512 for letter in b"abcde"]
    write_log(work / "log", [(0, block[0], 0), (1, record.ljust(512, b"\0"), 0), (0, b"", disklog.FLUSH),
                             (2, block[2], 0), (3, block[3], disklog.FUA), (4, block[4], 0)])
    (work / "base").write_bytes(bytes(5 * 512))
    log = disklog.DiskLog(work / "log")
    tap.equal(len(log.entries), 6, "every entry is read")
    tap.equal([position for _, position in log.record_cuts()], [3], "a record is on the disk once it is flushed")

    def cut(count, seed=None):
        content = log.cut(work / "base", work / "image", count, seed).read_bytes()
        return [content[n * 512] for n in (0, 2, 3, 4)]

    tap.equal(cut(2), [0, 0, 0, 0], "before the flush nothing is certain")
    tap.equal(cut(3), [97, 0, 0, 0], "after the flush what came before it is there")
    tap.equal(cut(6), [97, 0, 100, 0], "a forced write is there, its neighbours are not")
    outcomes = {tuple(cut(6, seed)) for seed in range(40)}
    tap.equal(outcomes, {(97, a, 100, b) for a in (0, 99) for b in (0, 101)}, "seeds reach every outcome")


def test_cases(tap):
    with mock.patch.dict(os.environ):
        os.environ.pop("FULL", None)
        test_samples(tap)
        os.environ["FULL"] = "1"
        case.case("full", "fresh", full=True)(None)
        tap.equal(case.Sample(0).take({"fresh"}).name, "full", "FULL=1 has all of them, and no limit")


def test_samples(tap):
    case.add("late", None, "made")
    every = case.Sample(None)
    tap.equal(every.take({"fresh"}), None, "a case whose state nobody made is not taken")
    tap.equal(every.take({"fresh", "made"}).name, "late", "it is once the state is there")

    def order(seed, minutes=1):
        for name in "abcdef":
            case.add(name, None, "fresh")
        case.case("maker", "fresh", makes="made")(None)
        sample = case.Sample(minutes, seed=seed)
        names = []
        while one := sample.take({"fresh"}):
            names.append(one.name)
        return names, sample.left

    first = order(1)
    tap.ok(first[0][0] == "maker" and sorted(first[0][1:]) == list("abcdef") and not first[1], "what others build on comes first, then all", first)
    tap.equal(order(1), first, "in the same order for the same seed")
    tap.equal(order(1, None)[0], [*"abcdef", "maker"], "with no limit in their own")
    names, left = order(1, 0)
    tap.equal((names, left), (["maker"], first[0][1:]), "when there is no time what stands apart is left, and named")
    for name in ("long", "unwanted"):
        case.case(name, "fresh", apart=True)(None)
    case.case("full", "fresh", full=True)(None)
    case.case("short", "fresh")(None)
    sample = case.Sample(0, wanted=lambda one: one.name != "unwanted")
    tap.equal((sample.take({"fresh"}).name, sample.take({"fresh"}), sample.left), ("short", None, ["long"]), "only what is wanted counts")


def test_work_directory(tap, work):
    kept = work / "kept"
    tap.equal(runner.work_directory(kept), kept, "a new directory is made")
    (kept / "disk.qcow2").touch()
    runner.work_directory(kept)
    tap.ok(not (kept / "disk.qcow2").exists(), "what an earlier run left goes")
    home = work / "home"
    home.mkdir()
    tap.equal(runner.work_directory(home), home, "an empty one is taken")
    (home / runner.MADE_HERE).unlink()
    (home / "letter").touch()
    try:
        runner.work_directory(home)
        tap.ok(False, "any other is not")
    except SystemExit:
        tap.ok((home / "letter").exists(), "any other is not")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        test_sources(tap, Path(name))
        test_pins(tap)
        test_replay(tap, Path(name))
        test_work_directory(tap, Path(name))
    test_cases(tap)
    tap.done()


if __name__ == "__main__":
    main()
