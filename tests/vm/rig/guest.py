# SPDX-License-Identifier: Apache-2.0
"""A guest in QEMU: boot, commands with their status and output, files, reboot, snapshots, power."""

import base64
import itertools
import json
import queue
import shlex
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

KERNEL_OPTIONS = ("console=ttyS0 root=/dev/vda rw rootflags=noinit_itable quiet loglevel=4 systemd.show_status=0 mitigations=off "
                  "random.trust_cpu=on memmap=256M$0x80000000 audit=0 selinux=0 apparmor=0 nokaslr")
# The guest's clock counts instructions: one CPU, one instruction a nanosecond. Waits last as long as in real
# time.
COUNTED = "counted"
MEMORY = "2560M"  # all of it below the PCI hole, so that the reserved range at 0x80000000 is RAM
BOOT_SECONDS = 180
# The only address in the guest's network. It forwards to a port of the machine that runs the guest.
SERVER = "10.0.2.100:6443"


class GuestError(RuntimeError):
    pass


@dataclass
class Result:
    rc: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"status {self.rc}\n{self.out}{self.err}".rstrip()


class _Lines:
    """A stream socket that a thread reads line by line. `None` in the queue marks the end of the stream."""

    def __init__(self, path, deadline):
        self._socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self.received = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            with self._socket.makefile("rb") as file:
                for line in file:
                    self.received.put(line)
        except OSError:
            pass
        self.received.put(None)

    def send(self, data):
        self._socket.sendall(data)

    def close(self):
        self._socket.close()


def create_overlay(path, backing):
    """Makes a disk that shows the content of `backing` until it is written."""
    kind = "raw" if str(backing).endswith(".raw") else "qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", kind, "-b", str(backing), str(path)], check=True)
    return path


class Guest:
    """A running guest. `image` has vmlinuz and initrd; `disk` is a qcow2 that the guest writes to."""

    def __init__(self, image, disk, work, accel="tcg", payload=None, log=None, load=None, cpus=2,
                 options="", server=None):
        self.image, self.disk, self.work = Path(image), Path(disk), Path(work)
        self.accel, self.payload, self.log, self.load, self.cpus = accel, payload, log, load, cpus
        self.options = options
        self.server = server  # port on the loopback of the machine that runs the guest; None: the guest has no network
        self.work.mkdir(parents=True, exist_ok=True)
        self.console = self.work / "console.log"
        self._ids = itertools.count(time.time_ns() // 1_000_000 % 1_000_000_000)
        self._lock = threading.Condition()
        self._start()

    # QEMU and its sockets

    def _disk_options(self):
        if not self.log:
            return ["-drive", f"file={self.disk},format=qcow2,if=none,id=root,cache=writeback,discard=unmap"]
        return ["-blockdev", f"driver=qcow2,node-name=data,file.driver=file,file.filename={self.disk}",
                "-blockdev", "driver=file,node-name=logfile,filename=" + str(self.log),
                "-blockdev", "driver=blklogwrites,node-name=root,file=data,log=logfile"]

    def _network_options(self):
        if not self.server:
            return []
        forward = f"tcp:{SERVER}-cmd:socat STDIO TCP:127.0.0.1:{self.server}"
        return ["-netdev", f"user,id=net,restrict=on,guestfwd={forward}", "-device", "virtio-net-pci,netdev=net"]

    def _command(self):
        # Emulated wide vectors are slow: SHA-256 on "max" needs 3.5 times as long as on a CPU without them.
        cpu = ["-cpu", "host" if self.accel == "kvm" else "qemu64", "-smp", str(self.cpus)]
        if self.accel == COUNTED:
            cpu = ["-cpu", "qemu64", "-smp", "1", "-icount", "shift=0"]
        command = ["qemu-system-x86_64", "-M", "pc", "-accel", "tcg" if self.accel == COUNTED else self.accel, *cpu, "-m", MEMORY,
                   "-nodefaults", "-no-user-config", "-display", "none", "-vga", "none", "-nic", "none", "-no-reboot",
                   "-kernel", str(self.image / "vmlinuz"), "-initrd", str(self.image / "initrd"),
                   "-append", f"{KERNEL_OPTIONS} {self.options}", "-serial", f"file:{self.console}",
                   "-qmp", f"unix:{self.work}/qmp,server=on,wait=off",
                   "-device", "virtio-serial", "-chardev", f"socket,id=agent,path={self.work}/agent,server=on,wait=off",
                   "-device", "virtserialport,chardev=agent,name=agent", "-device", "virtio-rng-pci",
                   *self._disk_options(), "-device", "virtio-blk-pci,drive=root"]
        if self.payload:
            command += ["-drive", f"file={self.payload},format=raw,if=none,id=payload,readonly=on",
                        "-device", "virtio-blk-pci,drive=payload"]
        # After the agent's port, which is /dev/vport0p1 only as the port of the first virtio device.
        command += self._network_options()
        if self.load:
            command += ["-loadvm", self.load]
        return command

    def _start(self):
        self._answers, self._hello, self._gone, self._plugged = {}, None, False, False
        for name in ("agent", "qmp"):
            (self.work / name).unlink(missing_ok=True)
        errors = open(self.work / "qemu.log", "ab")
        self.process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        try:
            self._connect(time.monotonic() + 20)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _connect(self, deadline):
        try:
            self._agent = _Lines(self.work / "agent", deadline)
            self._qmp = _Lines(self.work / "qmp", deadline)
        except OSError as error:
            raise GuestError(f"QEMU did not start: {(self.work / 'qemu.log').read_text()[-2000:]}") from error
        threading.Thread(target=self._collect, args=(self._agent,), daemon=True).start()
        self._qmp.received.get(timeout=20)
        self.qmp("qmp_capabilities")

    def _collect(self, agent):
        while (line := agent.received.get()) is not None:
            words = line.decode(errors="replace").strip("\r\n").split(" ")
            with self._lock:
                if words[0] == "hello" and len(words) == 2:
                    self._hello = words[1]
                elif len(words) == 4 and words[0].isdigit():
                    self._answers[int(words[0])] = words[1:]
                self._lock.notify_all()
        with self._lock:
            if agent is self._agent:  # else another QEMU has replaced it
                self._gone = True
                self._lock.notify_all()

    def qmp(self, command, timeout=120, **arguments):
        request = {"execute": command, **({"arguments": arguments} if arguments else {})}
        self._qmp.send(json.dumps(request).encode() + b"\n")
        while True:
            line = self._qmp.received.get(timeout=timeout)
            if line is None:
                raise GuestError(f"QEMU ended during {command}")
            reply = json.loads(line)
            if "error" in reply:
                raise GuestError(f"{command}: {reply['error']['desc']}")
            if "return" in reply:
                return reply["return"]

    def monitor(self, line, timeout=300):
        reply = self.qmp("human-monitor-command", timeout, **{"command-line": line})
        if reply.strip():
            raise GuestError(f"{line}: {reply.strip()}")

    # Boot, reboot, snapshots

    def wait_boot(self, timeout=BOOT_SECONDS):
        """Waits until the agent has sent its hello."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._hello or self._gone, timeout):
                raise GuestError(f"the guest did not boot within {timeout} s; console:\n{self.console_tail()}")
        if self._gone:
            raise GuestError(f"QEMU ended: {(self.work / 'qemu.log').read_text()[-2000:]}")
        return self

    def reboot(self, timeout=BOOT_SECONDS):
        """Reboots in an orderly way."""
        self.start("systemctl reboot")
        return self.wait_reboot(timeout)

    def wait_reboot(self, timeout=BOOT_SECONDS):
        """Waits for a reboot that a program in the guest began. Starts a new QEMU, because QEMU's own
        reset with -kernel does not boot reliably."""
        self._wait_end()
        self.load = None
        self._start()
        return self.wait_boot(timeout)

    def reset(self, timeout=BOOT_SECONDS):
        """Presses the reset button: boots again without a shutdown."""
        self.kill()
        self.load = None
        self._start()
        return self.wait_boot(timeout)

    def power_off(self):
        """Shuts the guest down in an orderly way; all of its writes are then on its disk."""
        self.start("systemctl poweroff")
        self._wait_end()

    def _wait_end(self, timeout=240):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise GuestError(f"the guest did not shut down within {timeout} s; console:\n{self.console_tail()}") from error
        self._close()

    def kill(self):
        """Kills QEMU. Keeps all writes of the guest, flushed or not; disklog simulates power cuts."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._close()
        self._gone = True

    def _close(self):
        self._agent.close()
        self._qmp.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def save(self, name):
        """Saves a snapshot of memory and disk inside the disk's file."""
        self.monitor(f"savevm {name}")

    def restore(self, name):
        with self._lock:
            self._answers.clear()
        self.monitor(f"loadvm {name}")

    def plug(self, disk, name):
        """Adds a read-only disk, /dev/disk/by-id/virtio-NAME, until the guest boots again. No snapshot
        includes it."""
        self._plugged = True
        self.qmp("blockdev-add", driver="raw", file={"driver": "file", "filename": str(disk)}, **{"node-name": name, "read-only": True})
        self.qmp("device_add", driver="virtio-blk-pci", drive=name, serial=name)

    def return_to(self, name):
        """Restores the snapshot, also after the guest ended or hangs."""
        if self._plugged:
            self.kill()
        if not self._gone:
            try:
                return self.restore(name)
            except (GuestError, queue.Empty, OSError):
                self.kill()
        self.load = name
        self._start()

    # Commands and files

    def start(self, command, timeout=180):
        """Starts a shell command in the guest; returns its number for `finish`."""
        number = next(self._ids)
        text = base64.b64encode(command.encode()).decode()
        self._agent.send(f"{number} {timeout} {text}\n".encode())
        return number

    def finish(self, number, timeout):
        with self._lock:
            if not self._lock.wait_for(lambda: number in self._answers or self._gone, timeout):
                raise GuestError(f"no answer from the guest in {timeout} s; console:\n{self.console_tail()}")
            if number not in self._answers:
                raise GuestError("QEMU ended while a command ran")
            rc, out, err = self._answers.pop(number)
        text = [base64.b64decode(part).decode(errors="replace") for part in (out, err)]
        return Result(int(rc), *text)

    def run(self, command, timeout=180):
        """Runs a shell command in the guest. Status 124: it timed out after `timeout` seconds."""
        return self.finish(self.start(command, timeout), timeout + 30)

    def check(self, command, timeout=180):
        """Runs a command that must succeed; returns its standard output."""
        result = self.run(command, timeout)
        if result.rc:
            raise GuestError(f"'{command}' failed in the guest: {result}")
        return result.out.strip()

    def wait_until(self, command, timeout=60, pause=0.5):
        """Repeats the command until it succeeds; returns its standard output."""
        deadline = time.monotonic() + timeout
        while True:
            result = self.run(command, timeout)
            if result.rc == 0:
                return result.out.strip()
            if time.monotonic() > deadline:
                raise GuestError(f"'{command}' did not succeed within {timeout} s: {result}")
            time.sleep(pause)

    def write(self, path, content, mode="0644"):
        data = content if isinstance(content, bytes) else content.encode()
        text = base64.b64encode(data).decode()
        quoted = shlex.quote(str(path))
        self.check(f"mkdir -p \"$(dirname {quoted})\"; base64 -d >{quoted} <<<{text} && chmod {mode} {quoted}")

    def read(self, path):
        return base64.b64decode(self.check(f"base64 -w0 {shlex.quote(str(path))}"))

    def console_tail(self, lines=40):
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        return "\n".join(text.splitlines()[-lines:])
