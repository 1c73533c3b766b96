# SPDX-License-Identifier: Apache-2.0
"""Makes a Debian in a directory, from the mirror that this machine's apt uses: a guest's disk, or compilers.

As a program: python3 -m rig.debian SUITE DIRECTORY PACKAGE,PACKAGE… [OPTION OF MMDEBSTRAP…]
"""

import subprocess
import sys

from . import inputs


def make_root(suite, root, packages, *options):
    sources = "".join(inputs.source_lines([suite, f"{suite}-updates", f"{suite}-security"]))
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(packages)}",
               "--aptopt=Acquire::Languages none", *options, suite, root, "-"]
    subprocess.run(command, check=True, input=sources.encode())


if __name__ == "__main__":
    make_root(*sys.argv[1:3], sys.argv[3].split(","), *sys.argv[4:])
