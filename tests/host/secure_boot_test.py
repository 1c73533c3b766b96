# SPDX-License-Identifier: Apache-2.0
"""A kernel that accepts only signed modules: a swap is refused before the loaded driver is changed."""
import glob
import os
import shutil

from driver_files import write_driver
from fake_host import NEW, OLD, read, run_checks, write
from signing_files import Key, enforce, know, openssl

NEXT = "6.1.0-51-amd64"


def refused(t, host, what, *texts):
    """Checks that a swap to NEW ends in its preflight, without loading or unloading any module."""
    log = host.read("/fake-kernel/log")
    run = host.ctl("driver", "swap", NEW)
    missing = [text for text in texts if text not in run.stderr]
    t.ok(run.returncode != 0 and not missing, f"a swap with {what} is refused", missing, run.stderr)
    t.ok(host.loaded()["nvidia"] == OLD and host.read("/fake-kernel/log") == log,
         f"the refused swap with {what} loads and unloads nothing", host.read("/fake-kernel/log"))


def check_unsigned(t, host):
    enforce(host)
    refused(t, host, "an unsigned module", "module 'nvidia' is not signed", "sig_enforce", "secure-boot show-enrolment")
    refused(t, host, "several unsigned modules", "'nvidia_uvm'", "'nvidia_drm'")
    enforce(host, False)


def check_next_kernel(t, host):
    """Another kernel that would refuse the modules, and so boot without a driver."""
    host.install_kernel(NEXT)
    modules, _ = write_driver(os.path.join(host.scratch, "next"), OLD, NEXT)
    host.ctl("driver", "import", *modules, check=0)
    enforce(host)
    run = host.ctl("driver", "set-default", "--kernel", NEXT)
    t.ok(run.returncode != 0 and "module 'nvidia' is not signed" in run.stderr,
         "driver set-default of unsigned modules for another kernel is refused", run.stderr)
    enforce(host, False)
    host.ctl("driver", "set-default", "--kernel", NEXT, check=0)
    shutil.rmtree(host.path(f"/lib/modules/{NEXT}"))


def import_signed(host, key, damage=False):
    """Imports signed modules of NEW as another, newer set."""
    unsigned, _ = write_driver(os.path.join(host.scratch, "unsigned"), NEW)
    directory = os.path.join(host.scratch, "signed by " + key.name)
    os.makedirs(directory, exist_ok=True)
    for module in unsigned:
        key.sign(module, os.path.join(directory, os.path.basename(module)))
    if damage:
        path = os.path.join(directory, "nvidia-uvm.ko")
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content.replace(b"preempt", b"PREEMPT", 1))
    host.ctl("driver", "import", *(os.path.join(directory, name) for name in sorted(os.listdir(directory))), check=0)


def check_signed(t, host):
    site, other = (Key(os.path.join(host.scratch, "keys"), name) for name in ("Site modules", "Other site"))
    enforce(host)
    know(host, other)
    import_signed(host, site)
    refused(t, host, "a key unknown to the kernel", "module 'nvidia' is signed by", "Site modules", "sig_enforce", "secure-boot show-enrolment")
    know(host, site, keyring=".ima")
    refused(t, host, "a key only in another keyring", f"'Site modules' (key {site.id})")
    know(host, site)
    run = host.ctl("driver", "swap", NEW)
    t.ok(run.returncode == 0 and host.loaded()["nvidia"] == NEW,
         "a swap with modules of an enrolled key succeeds", run.stderr)
    enforce(host, False)
    host.ctl("driver", "swap", OLD, check=0)


def check_damaged(t, host):
    damaged = Key(os.path.join(host.scratch, "keys"), "Damaged site")
    import_signed(host, damaged, damage=True)
    know(host, damaged)
    refused(t, host, "a module modified after signing", "'nvidia_uvm'", "does not match")
    know(host, damaged, keyring=".blacklist")
    refused(t, host, "a blacklisted key", "'Damaged site'", ".blacklist")


def configure(host, text):
    write(host.path("/etc/gpuhost/gpuhostd.conf.d/signing.conf"), text)
    host.ctl("reload", check=0)


def install(host, key, mode):
    for name, path in (("site.key", key.key), ("site.pem", key.certificate)):
        shutil.copy(path, host.path(f"/etc/gpuhost/{name}"))
    os.chmod(host.path("/etc/gpuhost/site.key"), mode)


def sets(host, version):
    driver = next(one for one in host.json("driver", "list")["versions"] if one["version"] == version)
    return [(one["digest"], {module["signer"] for module in one["modules"]}) for one in driver["modules"]]


def check_built(t, host):
    """Signs the unsigned modules of OLD with a key of the host."""
    builder = Key(os.path.join(host.scratch, "keys"), "Builder")
    before = sets(host, OLD)
    t.equal([signers for _, signers in before], [{""}], "the imported driver is unsigned")
    configure(host, "[Driver]\nSigningKey=/etc/gpuhost/site.key\nSigningCertificate=/etc/gpuhost/site.pem\nSigningHash=sha512\n")
    install(host, builder, 0o644)
    run = host.ctl("driver", "build", OLD)
    t.ok(run.returncode != 0 and "permissions too open" in run.stderr and sets(host, OLD) == before,
         "a world-readable signing key is refused", run.stderr)
    install(host, Key(os.path.join(host.scratch, "keys"), "Another"), 0o600)
    shutil.copy(builder.certificate, host.path("/etc/gpuhost/site.pem"))
    run = host.ctl("driver", "build", OLD)
    t.ok(run.returncode != 0 and "does not belong" in run.stderr and sets(host, OLD) == before,
         "a signing key of another certificate is refused", run.stderr)
    install(host, builder, 0o600)
    run = host.ctl("driver", "build", OLD)
    after = sets(host, OLD)
    t.ok(run.returncode == 0 and [signers for _, signers in after] == [{"Builder"}, {""}] and after[1] == before[0],
         "driver build stores signed modules as another set", run.stderr, after)
    t.ok("signed by Builder" in host.ctl("driver", "show", OLD).stdout,
         "driver show prints the signer", host.ctl("driver", "show", OLD).stdout)
    journal = "".join(read(path) for path in glob.glob(host.path("/var/lib/gpuhost/journal/*")))
    t.ok("PRIVATE KEY" not in journal and "/etc/gpuhost/site.key" in journal,
         "the journal has the key's path, not the key")
    know(host, builder)
    enforce(host)
    run = host.ctl("driver", "swap", OLD)
    t.ok(run.returncode == 0, "the kernel accepts the signed modules", run.stderr)
    host.ctl("driver", "build", OLD, check=0)
    t.equal(sets(host, OLD), after, "a second driver build adds no set")


def check_verbs(t, host):
    """gpuhostctl secure-boot with --root, without a daemon. Keyrings of the running kernel are not read."""
    rooted = f"--root={host.root}"
    shown = host.ctl("secure-boot", "status", rooted).stdout
    for text in ("signed ones only", "sig_enforce", "the kernel has it", f"{OLD} (open), selected: would load", f"{NEW} (open): would be refused", "Builder"):
        t.ok(text in shown, f"secure-boot status prints '{text}'", shown)
    status = host.json("secure-boot", "status", rooted)
    t.ok(status["certificate"]["kernel"] == "known" and status["enforcement"] and [key["name"] for key in status["keys"]] == ["Builder"],
         "secure-boot status --json has certificate, enforcement and keys", status)
    shown = host.ctl("secure-boot", "show-enrolment", rooted).stdout
    t.ok("nothing to enrol" in shown, "secure-boot show-enrolment of a known key does nothing", shown)
    t.equal(host.json("secure-boot", "show-enrolment", rooted)["kernel"], "known", "secure-boot show-enrolment --json has the key's state")
    run = host.ctl("secure-boot", "create-key", rooted)
    t.ok(run.returncode != 0 and "already exists" in run.stderr,
         "secure-boot create-key does not replace a key", run.stderr)
    configure(host, f"[Driver]\nSigningKey=/etc/gpuhost/new.key\nSigningCertificate=/etc/gpuhost/{'c' * 300}\n")
    run = host.ctl("secure-boot", "create-key", rooted)
    t.ok(run.returncode != 0 and "name too long" in run.stderr and not os.path.exists(host.path("/etc/gpuhost/new.key")),
         "secure-boot create-key without a certificate leaves no key", run.stderr)
    configure(host, "")
    run = host.ctl("secure-boot", "show-enrolment", rooted)
    t.ok(run.returncode != 0 and "secure-boot create-key" in run.stderr,
         "secure-boot show-enrolment without a key suggests create-key", run.stderr)
    run = host.ctl("secure-boot", "create-key", "--name=New key", rooted)
    t.ok(run.returncode == 0 and "mokutil --import /etc/gpuhost/modules.der" in run.stdout and "MokManager" in run.stdout and "New key" in run.stdout,
         "secure-boot create-key prints the mokutil command", run.stdout + run.stderr)
    t.equal(oct(os.stat(host.path("/etc/gpuhost/modules.key")).st_mode & 0o777), "0o600",
            "the created key is readable only by root")
    t.ok("codeSigning" in openssl("x509", "-inform", "DER", "-in", host.path("/etc/gpuhost/modules.der"), "-noout", "-text").replace("Code Signing", "codeSigning"),
         "the created certificate has the usage codeSigning")
    configure(host, "[Driver]\nSigningKey=/etc/gpuhost/modules.key\nSigningCertificate=/etc/gpuhost/modules.der\n")
    shown = host.ctl("secure-boot", "status", rooted).stdout
    t.ok("'New key': the kernel does not have it" in shown,
         "secure-boot status reports a key that is not enrolled", shown)
    os.remove(host.path("/etc/gpuhost/modules.der"))
    run = host.ctl("secure-boot", "create-key", rooted)
    t.ok(run.returncode != 0 and "its certificate /etc/gpuhost/modules.der is missing" in run.stderr,
         "secure-boot create-key reports a key without its certificate", run.stderr)


run_checks(check_unsigned, check_signed, check_damaged, check_built, check_verbs, check_next_kernel)
