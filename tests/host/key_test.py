# SPDX-License-Identifier: Apache-2.0
"""Signing keys for bundles: PKCS#12 with chain, encrypted PEM, and keys in a PKCS#11 token."""
import glob
import os
import pty
import shutil
import tempfile

import programs
import tap
from fake_host import scratch, write
from image_files import Layout, Site

BAD_ARGUMENT, NOT_ALLOWED = 2, 12
MODULE = "/usr/lib/softhsm/libsofthsm2.so"
SPEC = "[Bundle]\nName=site\n\n[Image registry.example/app:v1]\nLayout=layout\n"
URI = "pkcs11:token=site;object=bundles;type=private"


class Maker:
    def __init__(self, directory):
        self.directory = directory
        self.site = Site(self.path("site"))
        self.environment = programs.environment(NO_COLOR="1", LC_ALL="C")
        layout = Layout(self.path("layout"))
        layout.tag(layout.add_manifest([b"layer"]), "v1")
        write(self.path("site.spec"), SPEC)
        write(self.path("passphrase"), "s3cret\n")
        write(self.path("wrong"), "nothing\n")

    def path(self, name):
        return os.path.join(self.directory, name)

    def openssl(self, *words):
        programs.run(["openssl", *words], cwd=self.site.path, check=True)

    def command(self, *options):
        return [os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "create", self.path("site.spec"), "-o", self.path("site.bundle"), *options]

    def create(self, *options):
        if os.path.exists(self.path("site.bundle")):
            os.remove(self.path("site.bundle"))
        return programs.run(self.command(*options), env=self.environment, start_new_session=True)  # without a terminal

    def signed(self):
        """Verifies the bundle with its own chain and only the site's authority."""
        return programs.run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "bundle", "verify", self.path("site.bundle"),
                             "--trust", self.site.file("ca.pem")], env=self.environment)

    def type_in(self, answer, *options):
        """Runs bundle create on a terminal and answers its prompt. Returns exit status and output."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(self.command()[0], self.command(*options), self.environment)
        shown = b""
        while chunk := read_some(terminal):
            shown += chunk
            if answer and shown.endswith(b": "):
                os.write(terminal, answer.encode() + b"\n")
                answer = None
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def read_some(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


def make_chain(maker):
    """Creates an intermediate authority and a signing key below it."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    write(maker.site.file("middle.ext"), "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n")
    maker.openssl("req", *key, "-subj", "/CN=Department", "-keyout", "middle.key", "-out", "middle.csr")
    maker.openssl("x509", "-req", "-in", "middle.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                  "-extfile", "middle.ext", "-out", "middle.pem")
    maker.openssl("x509", "-req", "-in", "bundle.csr", "-CA", "middle.pem", "-CAkey", "middle.key", "-CAcreateserial", "-days", "30",
                  "-extfile", "bundle.ext", "-out", "leaf.pem")
    for name, secret in (("site.p12", "s3cret"), ("open.pfx", "")):
        maker.openssl("pkcs12", "-export", "-inkey", "bundle.key", "-in", "leaf.pem", "-certfile", "middle.pem", "-out", name,
                      "-passout", f"pass:{secret}")
    maker.openssl("pkcs8", "-topk8", "-in", "bundle.key", "-out", "locked.key", "-passout", "pass:s3cret")


def check_files(t, maker):
    p12, good = maker.site.file("site.p12"), ["--passphrase-file", maker.path("passphrase")]
    pem = ["--sign-key", maker.site.file("locked.key"), "--cert", maker.site.file("bundle.pem")]
    for what, options in (("a PKCS#12 file with its chain", ["--sign-key", p12, *good]),
                          ("a PKCS#12 file without a passphrase", ["--sign-key", maker.site.file("open.pfx")]),
                          ("an encrypted key in PEM", [*pem, *good])):
        run = maker.create(*options)
        t.ok(run.returncode == 0 and maker.signed().returncode == 0,
             f"bundle create signs with {what}", run.stderr, maker.signed().stderr)
    for what, options in (("a PKCS#12 file", ["--sign-key", p12]), ("a key in PEM", pem)):
        for wrong in ([], ["--passphrase-file", maker.path("wrong")]):
            run = maker.create(*options, *wrong)
            t.ok(run.returncode == NOT_ALLOWED and "passphrase" in run.stderr and not os.path.exists(maker.path("site.bundle")),
                 f"{what} {'with a wrong' if wrong else 'without a'} passphrase is refused", run.returncode, run.stderr)
    write(maker.site.file("junk.p12"), "junk")
    run = maker.create("--sign-key", maker.site.file("junk.p12"))
    t.ok(run.returncode == BAD_ARGUMENT, "an invalid PKCS#12 file is refused", run.returncode, run.stderr)


def check_terminal(t, maker):
    p12 = ["--sign-key", maker.site.file("site.p12")]
    status, shown = maker.type_in("s3cret", *p12)
    t.ok(status == 0 and "Passphrase for " in shown and "s3cret" not in shown,
         "the passphrase is read from the terminal without echo",
         status, shown)
    status, shown = maker.type_in("other", *p12)
    t.ok(status == NOT_ALLOWED and shown.count("Passphrase for") == 1,
         "a wrong passphrase from the terminal is refused", status, shown)
    write(maker.path("site.spec"), "[Nonsense]\n")
    status, shown = maker.type_in(None, *p12)
    t.ok(status != 0 and "Passphrase for" not in shown, "a mistake in the specification is reported before the passphrase is asked for", status, shown)
    write(maker.path("site.spec"), SPEC)
    status, shown = maker.type_in(None, *p12, "--no-ask-password")
    t.ok(status == NOT_ALLOWED and "Passphrase for" not in shown,
         "--no-ask-password asks for no passphrase", status, shown)


def check_uri(t, maker):
    cert = ["--cert", maker.site.file("bundle.pem")]
    run = maker.create("--sign-key", URI + "?pin-value=1234", *cert)
    t.ok(run.returncode == BAD_ARGUMENT and "PIN must not be in its URI" in run.stderr,
         "a PIN in the key's URI is refused", run.stderr)
    run = maker.create("--sign-key", URI)
    t.ok(run.returncode == BAD_ARGUMENT and "--cert is missing" in run.stderr,
         "a token's key without --cert is refused", run.stderr)
    maker.environment["PKCS11_MODULE_PATH"] = "/nonexistent"
    run = maker.create("--sign-key", URI, *cert)
    t.ok(run.returncode == BAD_ARGUMENT and "loading key 'pkcs11:" in run.stderr and "openssl.cnf" in run.stderr,
         "a missing PKCS#11 module is reported with a hint", run.stderr)


def check_token(t, maker):
    if not (os.path.exists(MODULE) and shutil.which("softhsm2-util") and glob.glob("/usr/lib/*/engines-3/pkcs11.so")):
        t.skip("bundle create signs with a key in a token", "softhsm2 or libengine-pkcs11-openssl is not installed")
        return
    with tempfile.TemporaryDirectory() as tokens:
        write(maker.path("softhsm2.conf"), f"directories.tokendir = {tokens}\nobjectstore.backend = file\n")
        maker.environment.update(SOFTHSM2_CONF=maker.path("softhsm2.conf"), PKCS11_MODULE_PATH=MODULE)
        maker.openssl("pkcs8", "-topk8", "-nocrypt", "-in", "bundle.key", "-out", "plain.key")
        for words in (["--init-token", "--free", "--label", "site", "--so-pin", "4321"],
                      ["--import", maker.site.file("plain.key"), "--token", "site", "--label", "bundles", "--id", "01"]):
            programs.run(["softhsm2-util", *words, "--pin", "123456"], env=maker.environment, check=True)
        write(maker.path("pin"), "123456\n")
        key = ["--sign-key", URI, "--cert", maker.site.file("bundle.pem")]
        run = maker.create(*key, "--passphrase-file", maker.path("pin"))
        t.ok(run.returncode == 0 and maker.signed().returncode == 0,
             "bundle create signs with a key in a token", run.stderr, maker.signed().stderr)
        status, shown = maker.type_in("123456", *key)
        t.ok(status == 0 and maker.signed().returncode == 0,
             "a token's PIN is read from the terminal", status, shown)
        run = maker.create(*key, "--passphrase-file", maker.path("wrong"))
        t.ok(run.returncode == NOT_ALLOWED and not os.path.exists(maker.path("site.bundle")),
             "a wrong PIN is refused", run.returncode, run.stderr)
        run = maker.create("--sign-key", "pkcs11:token=site;object=others", *key[2:], "--passphrase-file", maker.path("pin"))
        t.ok(run.returncode in (BAD_ARGUMENT, NOT_ALLOWED) and "object=others" in run.stderr,
             "a missing key of a token is reported",
             run.returncode, run.stderr)
        run = maker.create("--sign-key", URI, "--cert", maker.site.file("ca.pem"), "--passphrase-file", maker.path("pin"))
        t.ok(run.returncode == BAD_ARGUMENT and "does not belong to" in run.stderr,
             "a certificate of another key is refused", run.stderr)


def main():
    t = tap.Tap()
    directory = scratch()
    try:
        maker = Maker(directory)
        make_chain(maker)
        for check in (check_files, check_terminal, check_uri, check_token):
            check(t, maker)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    t.done()


if __name__ == "__main__":
    main()
