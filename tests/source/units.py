# SPDX-License-Identifier: Apache-2.0
"""Checks that units load without a warning and stay below their limits of exposure
(systemd/SANDBOXING.md)."""
import glob
import os
import re
import shutil
import tempfile

from programs import environment, run
from tap import TOP_BUILDDIR, TOP_SRCDIR, Tap

EXPOSURE = {"gpuhostd.service": 30, "gpuhost-registry.service": 15, "gpuhost-peers.service": 15,
            "gpuhost-fetch.service": 15, "gpuhost-cluster.service": 15, "gpuhost-scrub.service": 15, "gpuhost-cdi.service": 15,
            "gpuhost-runtime.service": 15, "gpuhost-metrics.service": 15, "gpuhost-textfile.service": 15,
            "gpuhost-devices.service": 15}  # tenths, of `systemd-analyze security`


def analyze(*arguments):
    result = run(["systemd-analyze", *arguments], env=environment(SYSTEMD_LOG_LEVEL="warning"))
    return result.returncode, result.stdout + result.stderr


def collect(directory):
    """Copies the units. /bin/true replaces their programs, which are not installed."""
    for top in (TOP_SRCDIR, TOP_BUILDDIR):
        for unit in glob.glob(os.path.join(top, "systemd", "*.*")):
            with open(unit, encoding="utf-8", errors="replace") as file:
                text = re.sub(r"^(Exec\w+=[-@:+!]*)\S*gpuhost\S*", r"\1/bin/true", file.read(), flags=re.M)
            if unit.endswith((".service", ".socket", ".path", ".timer")) and "[D-BUS Service]" not in text:
                with open(os.path.join(directory, os.path.basename(unit)), "w", encoding="utf-8") as file:
                    file.write(text)
    return sorted(glob.glob(os.path.join(directory, "*")))


def check_unit(tap, unit):
    name = os.path.basename(unit)
    status, output = analyze("verify", "--man=no", "--recursive-errors=no", unit)
    about_it = "\n".join(line for line in output.splitlines() if name in line)
    tap.ok(status == 0 and not about_it, f"{name} loads without warnings", output)
    if name in EXPOSURE:
        status, output = analyze("security", "--offline=yes", "--no-pager", f"--threshold={EXPOSURE[name]}", unit)
        tap.ok(status == 0, f"{name} has an exposure of at most {EXPOSURE[name] / 10}", output)


def constant(path, name):
    """Returns a numeric constant from a source."""
    with open(os.path.join(TOP_SRCDIR, path), encoding="utf-8") as file:
        return int(re.search(rf"\b{name} ?= ?(\d+)", file.read())[1])


def check_tasks(tap):
    """libcurl uses a thread for each name that it resolves, and all peers are queried at once."""
    allowed, peers = constant("systemd/gpuhost-fetch.service.in", "TasksMax"), constant("images/peers/discovery.cpp", "most_peers")
    tap.ok(allowed > peers, "TasksMax of gpuhost-fetch permits a thread for each peer", allowed, peers)


def check_openat2(tap):
    """RestrictSUIDSGID=, which DynamicUser= implies, makes openat2(2) fail: a filter of system calls can't
    read its argument."""
    for name in ("gpuhost-cluster", "gpuhost-textfile", "gpuhost-devices"):
        with open(os.path.join(TOP_SRCDIR, f"systemd/{name}.service.in"), encoding="utf-8") as file:
            tap.ok(not re.search(r"^(RestrictSUIDSGID|DynamicUser)=(yes|true|on|1)", file.read(), flags=re.M), f"the sandbox of {name} permits openat2(2)")


def check_wanted(tap):
    """systemctl warns of an [Install] section that names a unit which the host does not have."""
    for path in sorted(glob.glob(os.path.join(TOP_SRCDIR, "systemd", "*.*"))):
        with open(path, encoding="utf-8") as file:
            wanted = re.findall(r"^(?:WantedBy|RequiredBy|UpheldBy)=(.*)", file.read(), flags=re.M)
        others = [unit for line in wanted for unit in line.split() if not unit.endswith(".target")]
        if wanted:
            tap.equal(others, [], f"{os.path.basename(path)} is installed below targets only")
    with open(os.path.join(TOP_SRCDIR, "systemd/local.mk"), encoding="utf-8") as file:
        users = re.search(r"^image_users = ((?:.*\\\n)*.*)", file.read(), flags=re.M)[1].replace("\\\n", " ").split()
    with open(os.path.join(TOP_SRCDIR, "systemd/gpuhost-images.service.in"), encoding="utf-8") as file:
        after = re.search(r"^After=gpuhost-registry.socket (.*)", file.read(), flags=re.M)[1].split()
    tap.equal(users, after, "gpuhost-images.service is started after each of the runtimes that start it")


def check_the_check(tap, directory):
    broken = os.path.join(directory, "broken.service")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("[Service]\nExecStart=/bin/true\nNoSuchKey=yes\n")
    _, output = analyze("verify", "--man=no", "--recursive-errors=no", broken)
    tap.ok("broken.service" in output, "a unit with an unknown key causes a warning")
    status, _ = analyze("security", "--offline=yes", "--no-pager", "--threshold=30", broken)
    tap.ok(status != 0, "a unit without a sandbox exceeds the limit of exposure")


def main():
    tap = Tap()
    check_tasks(tap)
    check_openat2(tap)
    check_wanted(tap)
    if not shutil.which("systemd-analyze"):
        tap.skip("units", "systemd-analyze is not installed")
        tap.done()
    with tempfile.TemporaryDirectory() as directory:
        units = collect(directory)
        tap.ok(units, "units are found")
        for unit in units:
            check_unit(tap, unit)
        check_the_check(tap, directory)
    tap.done()


main()
