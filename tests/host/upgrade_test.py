# SPDX-License-Identifier: Apache-2.0
"""gpuhostctl upgrade: from a bundle, a directory, the store or a peer; each part fails once, and the same
command continues."""
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import threading

import programs
import tap
from bundle_driver_test import Maker
from driver_files import DEPENDS, KERNEL, module, write_driver
from fake_host import NEW, OLD, FakeHost, write
from gates import Gates
from peer_files import Authority, Peer
from registry_service import listening
from toolkit_files import write_bytes

FAILED, BAD_ARGUMENT, NOT_OK, NOT_FOUND, REFUSED, BAD_CONTENT, ROLLED_BACK = 1, 2, 3, 4, 8, 9, 15
BUILT = "570.86.15"
ONE = """[Bundle]
Name=one
Generation={generation}

[Driver %s]
Packages=%s/*.deb

[Modules %s %s]
Files=%s/*.ko
"""


def one(version):
    return ONE % (version, version, version, KERNEL, version)


def new_host(maker=None):
    host = FakeHost()
    host.install()
    if maker:
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
    host.start_daemon()
    host.settle()
    return host


def state(host):
    """Returns what an upgrade changes: store, bundles, loaded and selected driver."""
    listed = host.json("driver", "list")
    return ([v["version"] for v in listed["versions"]], [b["name"] for b in host.json("bundle", "list")["bundles"]],
            host.loaded().get("nvidia"), {kernel: one["version"] for kernel, one in listed["selected"].items()})


def kinds(host):
    return [one["kind"] for one in host.json("operation", "list")]


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf"), text)
    host.ctl("reload", check=0)


def said(run):
    return (run.returncode, run.stdout, run.stderr)


def check_directory(t, host, maker):
    """Packages and modules in one directory, and the verbs that share its code."""
    run = host.ctl("upgrade")
    t.ok(run.returncode == NOT_FOUND and "the driver store is empty" in run.stderr, "an upgrade of an empty store names a command", *said(run))
    before = state(host)
    run = host.ctl("upgrade", "--dry-run", maker.path(OLD))
    t.ok(run.returncode == 0 and state(host) == before and run.stdout.endswith(
        "\nNot checked now:\n  a build of modules, if needed: depends on the import\n  the swap to the driver: depends on the import\n"
        "  the rest of the configuration: depends on the import\n"), "a dry run names the parts that it can't check", *said(run))
    run = host.ctl("upgrade", maker.path(OLD))
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == OLD and f"import driver {OLD} (4 packages): done" in run.stdout
         and f"import driver {OLD} for kernel {KERNEL} (4 modules): done" in run.stdout and "Next:" not in run.stdout
         and run.stdout.endswith(f"OK: driver {OLD} serves 2 GPUs\n"), "a directory is imported, loaded and applied", *said(run))
    titles = [one["title"] for one in host.json("operation", "list")]
    t.ok(f"import driver {OLD} (4 packages)" in titles, "operation list names the imported version", titles)
    after, ran = state(host), kinds(host)
    run = host.ctl("upgrade", maker.path(OLD))
    t.ok(run.returncode == 0 and state(host) == after and kinds(host)[len(ran):] == ["driver.import"] * 2,
         "a repeated upgrade imports again and changes nothing", *said(run), kinds(host))
    run = host.ctl("driver", "import", maker.path(NEW), "--json")
    states = [one["state"] for one in json.loads(run.stdout)["operations"]]
    t.ok(run.returncode == 0 and states == ["committed"] * 2, "driver import imports packages and modules in turn", *said(run))
    run = host.ctl("driver", "import", maker.path(NEW), "--no-wait")
    t.ok(run.returncode == BAD_ARGUMENT and "two operations" in run.stderr, "two imports can't be started with --no-wait", *said(run))


def check_several(t, host, maker):
    """A directory with packages of two versions, told apart by their names."""
    both = maker.path("both")
    os.makedirs(both)
    for version in (OLD, NEW):
        for package in ("libcuda1", "libnvidia-ml1", "nvidia-smi"):
            shutil.copy(maker.path(f"{version}/{package}.deb"), f"{both}/{package}_{version}-1_amd64.deb")
    before = state(host)
    run = host.ctl("upgrade", both)
    t.ok(run.returncode == BAD_ARGUMENT and f"gpuhostctl upgrade {NEW} {both}" in run.stderr and state(host) == before,
         "several versions in a directory are refused before the import", *said(run))
    run = host.ctl("upgrade", NEW, both, "--dry-run")
    t.ok(run.returncode == 0 and f"import driver {NEW} (3 packages)" in run.stdout, "the named version of a directory is imported", *said(run))
    run = host.ctl("upgrade", BUILT, both)
    t.ok(run.returncode == REFUSED and f"The input has {NEW}, {OLD}." in run.stderr and state(host) == before,
         "a version that the directory lacks is refused before the import", *said(run))
    shutil.copy(maker.path(f"{OLD}/nvidia-smi.deb"), maker.path(f"nvidia-smi_{NEW}-1_amd64.deb"))
    modules = sorted(glob.glob(maker.path(f"{OLD}/*.ko")))
    for what, files in (("packages", [maker.path(f"nvidia-smi_{NEW}-1_amd64.deb")]), ("modules", modules)):
        run = host.ctl("upgrade", NEW, *files)
        t.ok(run.returncode == REFUSED and f"the files have driver {OLD}, not {NEW}" in run.stderr and "Done: nothing." in run.stderr
             and state(host) == before, f"{what} of another version are not imported", *said(run))


def check_mixed(t, host, maker):
    """Packages and modules of different versions in one directory: two operations, of which the first succeeds."""
    mixed = maker.path("mixed")
    os.makedirs(mixed)
    for package in ("libcuda1", "libnvidia-ml1", "nvidia-smi"):
        shutil.copy(maker.path(f"{NEW}/{package}.deb"), f"{mixed}/{package}_{NEW}-1_amd64.deb")
    for path in glob.glob(maker.path(f"{OLD}/*.ko")):
        shutil.copy(path, mixed)
    run = host.ctl("upgrade", mixed)
    t.ok(run.returncode == REFUSED and f"the files have driver {OLD}, not {NEW}" in run.stderr and state(host)[0] == [NEW]
         and "Done: the import of the packages.\nLeft: the import of the modules, " in run.stderr
         and run.stderr.endswith(f"\nAfter the cause is removed: gpuhostctl upgrade {NEW} {mixed}\n"), "modules of another version leave the packages imported", *said(run))
    shutil.rmtree(mixed)
    run = host.ctl("driver", "remove", NEW)
    t.ok(run.returncode == 0 and state(host)[0] == [], "the packages can be removed", *said(run))


def check_version(t, host):
    """The version: named, configured, or the newest in the store."""
    run = host.ctl("upgrade")
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == NEW, "without a version the newest is loaded", *said(run))
    run = host.ctl("upgrade", OLD, "--json")
    document = json.loads(run.stdout)
    t.ok(run.returncode == 0 and document["version"] == OLD and document["verdict"]["ok"]
         and [one["kind"] for one in document["operations"]] == ["driver.swap"], "--json prints one document", *said(run))
    before, ran = state(host), kinds(host)
    for text, version in ((f"Version={OLD}", NEW), ("Version=off", NEW), ("Version=preinstalled", NEW), ("Version=off", None)):
        configure(host, f"[Driver]\n{text}\n")
        run = host.ctl("upgrade", *([version] if version else []))
        t.ok(run.returncode == REFUSED and text in run.stderr and "gpuhostctl reload" in run.stderr and state(host) == before and kinds(host) == ran,
             f"{text} refuses {'driver ' + version if version else 'an upgrade without a version'}", *said(run))
    configure(host, f"[Driver]\nVersion={NEW}\n")
    run = host.ctl("upgrade")
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == NEW, "the configured version is loaded", *said(run))
    run = host.ctl("upgrade", "--json")
    document = json.loads(run.stdout)
    t.equal((run.returncode, [document[key] for key in ("operations", "plans", "unchecked", "done")]), (0, [[], [], [], []]),
            "the document of an upgrade without work has empty lists")
    run = host.ctl("upgrade", "--dry-run")
    t.equal(said(run), (0, "Nothing to do: the host is up to date.\n", ""), "a dry run without work says so")
    configure(host, "")
    run = host.ctl("upgrade", "1.2.3")
    t.ok(run.returncode == NOT_FOUND and f"The store has {NEW}, {OLD}." in run.stderr, "a missing version names those in the store", *said(run))
    for more in ([], ["--dry-run"]):
        run = host.ctl("upgrade", "1.2.3", "--json", *more)
        document = json.loads(run.stdout)
        t.ok(run.returncode == NOT_FOUND and document["error"]["message"] in run.stderr and document["done"] == [],
             f"the document of {' '.join(['upgrade', *more])} has the error of the choice", *said(run))
    run = host.ctl("upgrade", OLD, "--dry-run")
    t.ok(run.returncode == 0 and f"swap driver {NEW} → {OLD}" in run.stdout and "no problems found" in run.stdout
         and run.stdout.endswith("\nNot checked now:\n  the rest of the configuration: depends on the swap\n")
         and host.loaded().get("nvidia") == NEW, "a dry run checks a swap to a stored version", *said(run))


def check_bundle(t, host, maker):
    bundle = maker.path("site.bundle")
    maker.create()
    before = state(host)
    run = host.ctl("upgrade", bundle)
    t.ok(run.returncode == BAD_ARGUMENT and f"several driver versions: {NEW}, {OLD}" in run.stderr
         and f"gpuhostctl upgrade {NEW} {bundle}" in run.stderr and state(host) == before,
         "several versions in a bundle are refused before the import", *said(run))
    run = host.ctl("upgrade", bundle, "1.2.3")
    t.ok(run.returncode == REFUSED and f"The input has {NEW}, {OLD}." in run.stderr and state(host) == before,
         "a version that the bundle lacks is refused", *said(run))
    run = host.ctl("upgrade", NEW, bundle, "--dry-run", "--json")
    document = json.loads(run.stdout)
    t.ok(run.returncode == 0 and state(host) == before and document["operations"] == [] and len(document["unchecked"]) == 3
         and document["plans"][0]["checked"], "a dry run of a bundle checks only the import", *said(run))
    run = host.ctl("upgrade", NEW, bundle)
    t.ok(run.returncode == 0 and state(host) == ([NEW, OLD], ["drivers"], NEW, {KERNEL: NEW})
         and "import bundle drivers, generation 1: done" in run.stdout and run.stdout.endswith(f"OK: driver {NEW} serves 2 GPUs\n"),
         "a bundle on a stick upgrades the host", *said(run))
    t.ok("toolkit" not in run.stderr and "unpack the bundle's drivers" in run.stderr, "an import without a toolkit unpacks none", *said(run))
    with open(bundle, "rb") as file:
        run = host.ctl("upgrade", "-", OLD, stdin=file)
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == OLD, "a bundle is read from standard input", *said(run))
    maker.create(one(NEW))
    with subprocess.Popen(["cat", bundle], stdout=subprocess.PIPE) as cat:
        run = host.ctl("upgrade", "-", stdin=cat.stdout)
    t.ok(run.returncode == 0 and host.loaded().get("nvidia") == NEW and state(host)[1] == ["drivers", "one"],
         "the only version of a bundle from a pipe is loaded", *said(run))
    maker.create(one(NEW), generation=2)
    with subprocess.Popen(["cat", bundle], stdout=subprocess.PIPE) as cat:
        run = host.ctl("upgrade", OLD, "-", stdin=cat.stdout, stderr=subprocess.STDOUT)
    t.ok(run.returncode == REFUSED and host.loaded().get("nvidia") == NEW and f"driver {OLD} is in the store, but the input has only {NEW}" in run.stdout
         and "Done: the import of the bundle." in run.stdout and run.stdout.endswith(f"After the cause is removed: gpuhostctl upgrade {OLD}\n"),
         "a version that the pipe lacked stops after the import", run.stdout)
    t.ok(0 <= run.stdout.find("import bundle one, generation 2: done") < run.stdout.find("Done: "), "both streams of a pipe keep their order", run.stdout)
    maker.create(generation=2)
    configure(host, f"[Driver]\nVersion={OLD}\n")
    with subprocess.Popen(["cat", bundle], stdout=subprocess.PIPE) as cat:
        run = host.ctl("upgrade", "-", stdin=cat.stdout)
    t.ok(run.returncode == BAD_ARGUMENT and "several driver versions" in run.stderr and f"gpuhostctl upgrade {OLD}.\n" in run.stderr
         and run.stderr.endswith(f"\nAfter the cause is removed: gpuhostctl upgrade {OLD}\n"), "several versions from a pipe stop after the import", *said(run))
    configure(host, "")
    maker.create(one(OLD), generation=1)
    run = host.ctl("bundle", "remove", "one")
    os.unlink(host.path("/etc/gpuhost/trust.d/site.pem"))
    before = state(host)
    run = host.ctl("upgrade", bundle)
    t.ok(run.returncode != 0 and "/etc/gpuhost/trust.d" in run.stderr and state(host) == before and "Done: nothing." in run.stderr,
         "a bundle that is not trusted changes nothing", *said(run))
    shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))


def source_of(path, version):
    """Writes a source directory whose Makefile copies modules instead of compiling them."""
    for name in DEPENDS:
        write_bytes(f"{path}/{name}.blob", module(name, version))
    write(f"{path}/Makefile", "modules:\n\tfor blob in *.blob; do cp $$blob $${blob%.blob}.ko; done\n")
    write(f"{path}/dkms.conf", f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\n')
    write(f"{path}/nvidia/nv.c", 'MODULE_LICENSE("Dual MIT/GPL");\n')
    return path


# Steps of the parts of an upgrade by a directory of packages and modules, then by a source directory.
FAILURES = (("apply store.stage before", FAILED, "nothing"), ("apply store.publish before", FAILED, "nothing"),
            ("apply modules.converge before", ROLLED_BACK, "the import of the packages, the import of the modules"),
            ("apply driver.validate before", ROLLED_BACK, "the import of the packages, the import of the modules"))


def fail_once(host, where, *words):
    """Runs an upgrade whose first arrival at this gate fails."""
    gates = Gates(host, lambda gate, count: "error failed" if gate == where and count == 1 else "go")
    run = host.ctl("upgrade", *words)
    gates.close()
    return run


def check_failures(t, maker):
    for where, status, done in FAILURES:
        host = new_host()
        try:
            host.ctl("upgrade", maker.path(OLD), check=0)
            run = fail_once(host, where, maker.path(NEW))
            command = "gpuhostctl upgrade " + (NEW if done != "nothing" else maker.path(NEW))
            next_step = ", run the same command again." if done == "nothing" else f": {command}"
            t.ok(run.returncode == status and host.loaded().get("nvidia") == OLD and f"Done: {done}.\n" in run.stderr
                 and "the rest of the configuration.\n" in run.stderr and run.stderr.endswith(f"\nAfter the cause is removed{next_step}\n"),
                 f"an error at {where.split()[1]} stops the upgrade", *said(run))
            run = host.ctl(*command.split()[1:])
            t.ok(run.returncode == 0 and state(host) == ([NEW, OLD], [], NEW, {KERNEL: NEW}),
                 f"the named command continues after {where.split()[1]}", *said(run))
        finally:
            host.close()


def check_build(t, maker):
    """A source directory: the build fails once for lack of headers, once in the compiler."""
    host = new_host()
    try:
        host.ctl("upgrade", maker.path(OLD), check=0)
        host.ctl("driver", "import", *write_driver(maker.path("built"), BUILT)[1], check=0)
        source = source_of(maker.path("source"), BUILT)
        run = host.ctl("upgrade", source)
        t.ok(run.returncode != 0 and host.loaded().get("nvidia") == OLD and f"a build of the modules of {BUILT}" in run.stderr,
             "a build without headers stops the upgrade", *said(run))
        configure(host, f"[Driver]\nVersion={BUILT}\n")
        shown = host.ctl("status").stdout
        ways = ("Install the headers of exactly this kernel ", f"Or use modules that are already built: gpuhostctl upgrade {BUILT} MODULES/*.ko.")
        t.ok(shown.startswith(f"NOT OK: driver {BUILT} has no modules for kernel {KERNEL}\nHint: {ways[0]}")
             and all(way in run.stderr and shown.count(way) == 1 for way in ways), "status names the ways of the error, once", shown, run.stderr)
        configure(host, "")
        for name in ("Makefile", "Module.symvers", ".config"):
            write(host.path(f"/lib/modules/{KERNEL}/build/{name}"), "\n")
        write(host.path(f"/lib/modules/{KERNEL}/build/include/generated/utsrelease.h"), f'#define UTS_RELEASE "{KERNEL}"\n')
        run = fail_once(host, "apply build.compile before", BUILT)
        t.ok(run.returncode == FAILED and host.loaded().get("nvidia") == OLD and run.stderr.endswith("After the cause is removed, run the same command again.\n"),
             "a failed build stops the upgrade", *said(run))
        run = host.ctl("upgrade", BUILT, "--dry-run")
        t.ok(run.returncode == 0 and f"the swap to driver {BUILT}: depends on the build\n" in run.stdout, "a dry run checks the build", *said(run))
        run = host.ctl("upgrade", source)
        t.ok(run.returncode == 0 and host.loaded().get("nvidia") == BUILT and f"build driver {BUILT} for {KERNEL}: done" in run.stdout,
             "the same command builds and swaps", *said(run))
    finally:
        host.close()


def check_interrupt(t, maker):
    """Ctrl-C leaves the operation running; the same command waits for it and continues."""
    host = new_host()
    try:
        host.ctl("upgrade", maker.path(OLD), check=0)
        arrived, leave = threading.Event(), threading.Event()

        def decide(where, _count):
            if where == "apply modules.converge before":
                arrived.set()
                leave.wait(programs.PATIENCE)
            return "go"

        gates = Gates(host, decide)
        ctl = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "upgrade", maker.path(NEW)], env=host.environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        arrived.wait(programs.PATIENCE)
        ctl.send_signal(signal.SIGINT)
        out, err = programs.outputs(ctl)
        t.ok(ctl.returncode == -signal.SIGINT and "continues without this command" in err
             and f"then continue: gpuhostctl upgrade {NEW}\n" in err, "Ctrl-C names the operation and how to go on", out, err)
        again = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "upgrade", NEW], env=host.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        leave.set()
        out, err = programs.outputs(again)
        gates.close()
        t.ok(again.returncode == 0 and "Waiting for operation" in err and host.loaded().get("nvidia") == NEW
             and kinds(host).count("driver.swap") == 2, "the same command waits for the operation", out, err)
    finally:
        host.close()


def check_peer(t, maker):
    """A bundle from another host, through gpuhost-fetch's socket."""
    source, host = new_host(maker), new_host(maker)
    authority = Authority(maker.path("authority"))
    keys, log, peer = authority.keys("host"), open(maker.path("peers.log"), "w", encoding="utf-8"), None
    try:
        maker.create(one(NEW), generation=2)
        source.ctl("bundle", "import", maker.path("site.bundle"), check=0)
        peer = Peer(maker.path("peer"), keys, log, source)
        configure(host, f"[Peers]\nPeers={peer.address}\nTimeout=2s\n")
        path = os.path.join(host.scratch, "fetch")

        def upgrade(*words):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                asked = programs.start([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "upgrade", *words, "--socket=" + path],
                                       env=host.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                select.select([listener], [], [], programs.PATIENCE)
                programs.wait(listening(listener, [os.path.join(tap.TOP_BUILDDIR, "gpuhost-fetch"), f"--root={host.root}"],
                                        env=host.environment | {"CREDENTIALS_DIRECTORY": keys}, stdout=log, stderr=log))
                out, err = programs.outputs(asked)
            os.unlink(path)
            return asked.returncode, out, err

        run = upgrade("--peer=other")
        t.ok(run[0] == NOT_FOUND and "Left: the transfer of bundle other from peers" in run[2]
             and "After the cause is removed, run the same command again.\n" in run[2], "a bundle that no peer has stops the upgrade", *run)
        run = upgrade("--peer=other", "--json")
        document = json.loads(run[1])
        t.ok(run[0] == NOT_FOUND and document["error"]["message"] in run[2] and document["done"] == [], "--json has the error of a transfer", *run)
        run = upgrade("--peer=one")
        t.ok(run[0] == 0 and host.loaded().get("nvidia") == NEW and "import bundle one, generation 2, from peers: done" in run[1]
             and run[1].endswith(f"OK: driver {NEW} serves 2 GPUs\n"), "a bundle from a peer upgrades the host", *run)
        run = upgrade("--peer=one", "--json")
        document = json.loads(run[1])
        t.ok(run[0] == 0 and document["version"] == NEW and document["operations"] == [], "a repeated fetch finds the version", *run)
        run = host.ctl("upgrade", "--peer=one", "--dry-run")
        t.ok(run.returncode == 0 and "the transfer of bundle one from peers" in run.stdout, "a dry run does not fetch", *said(run))
    finally:
        for one_of_them in filter(None, (peer, source, host, log)):
            one_of_them.close()


def main():
    t = tap.Tap()
    host = FakeHost()
    try:
        maker = Maker(os.path.join(host.scratch, "maker"))
        plain, trusting = new_host(), new_host(maker)
        try:
            check_several(t, plain, maker)
            check_mixed(t, plain, maker)
            check_directory(t, plain, maker)
            check_version(t, plain)
            check_bundle(t, trusting, maker)
        finally:
            plain.close()
            trusting.close()
        check_failures(t, maker)
        check_build(t, maker)
        check_interrupt(t, maker)
        check_peer(t, maker)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
