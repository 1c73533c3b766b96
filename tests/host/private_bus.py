# SPDX-License-Identifier: Apache-2.0
"""A private dbus-daemon whose policy permits everything."""
import os
import subprocess

from lines import Lines
from programs import end, start

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy>
</busconfig>
"""


class PrivateBus:
    def __init__(self, directory):
        path, config = os.path.join(directory, "bus"), os.path.join(directory, "bus.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(path=path))
        self.address = f"unix:path={path}"
        self.process = start(["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if Lines(self.process.stdout).next() is None:  # the address, printed when it listens
            raise RuntimeError("dbus-daemon did not start")

    def close(self):
        end(self.process)
        self.process.stdout.close()
