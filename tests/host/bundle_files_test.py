# SPDX-License-Identifier: Apache-2.0
"""Plain files in a bundle: the host has them below one directory until the bundle is removed."""
import os
import shutil

import programs
import tap
from fake_host import FakeHost, write
from image_files import Site

BAD_ARGUMENT, NOT_FOUND = 2, 4
BLOBS = "/var/lib/gpuhost/store/sha256"
FILES = "/var/lib/gpuhost/catalogue/site/files"
SPEC = """[Bundle]
Name=site
Generation={generation}

[Files runbooks]
Files=books/*.txt
Files=start.txt

[Files firmware]
Directory=tree

[Files elsewhere linux/riscv64]
Files=start.txt
"""


class Maker:
    """Creates the bundles."""
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        for name, text in (("books/a.txt", "a"), ("books/b.txt", "b"), ("start.txt", "start"), ("other/a.txt", ""), ("tree/nic/v1.bin", "nic"), ("tree/start", "start")):
            write(self.path(name), text)
        os.symlink("nic", self.path("tree/card"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def create(self, spec=SPEC, generation=1):
        write(self.path("site.spec"), spec.format(generation=generation))
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", "site.spec", "-o", self.path("site.bundle"),
                             *self.site.signing()], cwd=self.directory, env=programs.environment(NO_COLOR="1", LC_ALL="C"))

    def bring(self, host, spec=SPEC, generation=1):
        made = self.create(spec, generation)
        run = host.ctl("bundle", "import", self.path("site.bundle"))
        return made.returncode == 0 and run.returncode == 0, made.stderr, run.stdout, run.stderr, host.tail()


def found(host):
    """Returns the text of each file that the host has, by path."""
    texts = {}
    for directory, _, names in os.walk(host.path(FILES)):
        for name in names:
            with open(os.path.join(directory, name), encoding="ascii") as file:
                texts[os.path.relpath(os.path.join(directory, name), host.path(FILES))] = file.read()
    return texts


def check_mistakes(t, maker):
    os.symlink("nowhere", maker.path("dangling"))
    os.makedirs(maker.path("empty"))
    os.makedirs(maker.path("latin"))
    write(maker.path("lines/a\nb"), "")
    with open(os.path.join(os.fsencode(maker.path("latin")), b"caf\xe9.txt"), "wb"):
        pass
    os.makedirs(maker.path("loop"))
    os.symlink(".", maker.path("loop/again"))
    for old, new, status, words in (
            ("[Files firmware]", "[Files ../etc]", BAD_ARGUMENT, "is invalid"),
            ("[Files firmware]", "[Files]", BAD_ARGUMENT, "unknown section [Files]"),
            ("[Files firmware]", "[Files runbooks]", BAD_ARGUMENT, "files runbooks for the same hosts have two sections"),
            ("Directory=tree", "Directory=tree\nFiles=start.txt", BAD_ARGUMENT, "both Files= and Directory="),
            ("Directory=tree", "", BAD_ARGUMENT, "no Files= and no Directory="),
            ("Directory=tree", "Repository=tree", BAD_ARGUMENT, "unknown key 'Repository'"),
            ("Directory=tree", "Directory=tree\nGPUs=10de:2330", BAD_ARGUMENT, "unknown key 'GPUs'"),
            ("Directory=tree", "Directory=none", NOT_FOUND, "none"),
            ("Directory=tree", "Directory=empty", BAD_ARGUMENT, "has no files"),
            ("Directory=tree", "Files=dangling", NOT_FOUND, "dangling"),
            ("Directory=tree", "Files=tree", BAD_ARGUMENT, "is not a regular file"),
            ("Files=start.txt", "Files=books/a.txt other/a.txt", BAD_ARGUMENT, "have the same name"),
            ("Directory=tree", "Directory=loop", BAD_ARGUMENT, "nested too deeply"),
            ("Directory=tree", "Directory=latin", BAD_ARGUMENT, "not a valid name in a bundle"),
            ("Directory=tree", "Files=lines/*", BAD_ARGUMENT, "not a valid name in a bundle")):
        run = maker.create(SPEC.replace(old, new, 1))
        t.ok(run.returncode == status and words in run.stderr,
             f"bundle create refuses a bad specification: {words}", run.returncode, run.stderr)
    t.ok(not os.path.exists(maker.path("site.bundle")), "a refused specification creates no bundle")


def check_import(t, host, maker):
    good, *said = maker.bring(host)
    t.ok(good, "a bundle of files is imported", *said)
    t.equal(found(host), {"runbooks/a.txt": "a", "runbooks/b.txt": "b", "runbooks/start.txt": "start", "firmware/nic/v1.bin": "nic",
                          "firmware/card/v1.bin": "nic", "firmware/start": "start"},
            "an import provides the files for this platform")
    listed = host.json("bundle", "list")["bundles"][0]["files"]
    t.equal([(one["name"], one["files"], one["directory"]) for one in listed],
            [("runbooks", 3, FILES + "/runbooks"), ("firmware", 3, FILES + "/firmware")],
            "bundle list --json has the files' directories")
    t.ok("runbooks firmware" in host.ctl("bundle", "list").stdout,
         "bundle list prints the names of file sets", host.ctl("bundle", "list").stdout)
    shown = host.ctl("bundle", "show", maker.path("site.bundle"), "--trust", maker.site.file("ca.pem")).stdout
    t.ok("files runbooks" in shown and "files elsewhere on linux/riscv64" in shown,
         "bundle show prints file sets and platforms", shown)
    t.equal(len(os.listdir(host.path(BLOBS))), 4 + 3, "a file of two sections is stored once")


def check_mend(t, host, maker):
    shutil.rmtree(host.path(FILES + "/runbooks"))
    run = host.ctl("bundle", "import", maker.path("site.bundle"))
    t.ok(run.returncode == 0 and "runbooks/a.txt" in found(host),
         "a repeated import restores removed files", run.stdout, run.stderr)


def check_generations(t, host, maker):
    write(maker.path("books/a.txt"), "another")
    os.unlink(maker.path("books/b.txt"))
    good, *said = maker.bring(host, SPEC.replace("[Files firmware]\nDirectory=tree\n", ""), 2)
    t.ok(good, "the next generation is imported", *said)
    t.equal(found(host), {"runbooks/a.txt": "another", "runbooks/start.txt": "start"},
            "the next generation replaces files and removes old ones")
    host.ctl("bundle", "remove", "site", check=0)
    t.ok(not os.path.exists(host.path(FILES)) and os.listdir(host.path(BLOBS)) == [],
         "removing the bundle deletes files and blobs")


def main():
    t = tap.Tap()
    host = FakeHost()
    maker = Maker(os.path.join(host.scratch, "maker"))
    try:
        check_mistakes(t, maker)
        host.install()
        os.makedirs(host.path("/etc/gpuhost/trust.d"))
        shutil.copy(maker.site.file("ca.pem"), host.path("/etc/gpuhost/trust.d/site.pem"))
        host.start_daemon()
        host.settle()
        check_import(t, host, maker)
        check_mend(t, host, maker)
        check_generations(t, host, maker)
    finally:
        host.close()
    t.done()


if __name__ == "__main__":
    main()
