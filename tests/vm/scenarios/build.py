# SPDX-License-Identifier: Apache-2.0
"""Files that a build's worker sees in its sandbox. The compiler is tested outside the guest, where it is
faster."""

from rig.case import case
from rig.system import DEBIAN_12

from . import expect
from .install import NEW, OLD

KERNEL = DEBIAN_12.kernel


@case("a build without headers is refused, naming the missing package", start="both")
def no_headers(host):
    expect.refused(host, host.ctl("driver", "build", NEW, "--again"), f"linux-headers-{KERNEL}")


@case("a build sees its kernel's headers and misses only the compiler", start="both")
def headers_seen(host):
    host.check("dpkg-deb -x /payload/headers.deb /root/h && mkdir -p /usr/src && mv /root/h/usr/src/* /usr/src && "
               f"ln -s /usr/src/linux-headers-{KERNEL} /lib/modules/{KERNEL}/build", 120)
    result = host.ctl("driver", "build", NEW, "--again", "--dry-run")
    expect.refused(host, result, "gcc-12", "is not installed")
    assert "linux-headers" not in result.out + result.err, f"the headers are missing in the sandbox: {result}"
    expect.driver(host, OLD)
