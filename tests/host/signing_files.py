# SPDX-License-Identifier: Apache-2.0
"""Keys for kernel modules, signatures by openssl(1), and a fake kernel and firmware with keyrings."""
import os
import re
import struct

from fake_host import write
from programs import run

MAGIC = b"~Module signature appended~\n"
EFI_X509 = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
MOK_LIST = "/sys/firmware/efi/mok-variables/MokListRT"
ENFORCE = "/sys/module/module/parameters/sig_enforce"


def openssl(*arguments, **more):
    done = run(["openssl", *arguments], **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Key:
    """A self-signed code signing certificate and its key, as files."""

    def __init__(self, directory, name):
        os.makedirs(directory, exist_ok=True)
        self.name = name
        self.key, self.certificate, self.der = (os.path.join(directory, f"{name}.{end}") for end in ("key", "pem", "der"))
        openssl("req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-keyout", self.key, "-out", self.certificate,
                "-subj", f"/CN={name}", "-addext", "keyUsage=digitalSignature", "-addext", "extendedKeyUsage=codeSigning",
                "-addext", "basicConstraints=critical,CA:FALSE")
        openssl("x509", "-in", self.certificate, "-outform", "DER", "-out", self.der)
        shown = openssl("x509", "-in", self.certificate, "-noout", "-ext", "subjectKeyIdentifier")
        self.id = re.sub(r"[^0-9a-f]", "", shown.splitlines()[1].lower())

    def sign(self, module, signed):
        openssl("cms", "-sign", "-binary", "-noattr", "-nocerts", "-md", "sha256", "-signer", self.certificate, "-inkey", self.key,
                "-in", module, "-outform", "DER", "-out", signed + ".p7s")
        with open(module, "rb") as image, open(signed + ".p7s", "rb") as signature, open(signed, "wb") as out:
            der = signature.read()
            out.write(image.read() + der + struct.pack(">8BI", 0, 0, 2, 0, 0, 0, 0, 0, len(der)) + MAGIC)
        os.unlink(signed + ".p7s")


def enforce(host, on=True):
    write(host.path(ENFORCE), "Y\n" if on else "N\n")


def know(host, *keys, keyring=".machine"):
    """Puts the keys into a keyring of the fake kernel and into the firmware's list."""
    lines = [f"{number:08x} I------     1 perm 1f030000     0     0 asymmetri {key.name}: {key.id}: X509.rsa {key.id[-8:]} []\n" for number, key in enumerate(keys, 0x100)]
    lines.append(f"36da847d I------     1 perm 1f0b0000     0     0 keyring   {keyring}: {len(keys) or 'empty'}\n")
    write(host.path("/proc/keys"), "".join(lines))
    write(host.path(f"/fake-kernel/keyrings/{keyring}"), " ".join(f"{number:08x}" for number in range(0x100, 0x100 + len(keys))))
    lists = b""
    for key in keys:
        with open(key.der, "rb") as file:
            body = bytes(16) + file.read()
        lists += EFI_X509 + struct.pack("<III", 28 + len(body), 0, len(body)) + body
    os.makedirs(os.path.dirname(host.path(MOK_LIST)), exist_ok=True)
    with open(host.path(MOK_LIST), "wb") as file:
        file.write(lists)
