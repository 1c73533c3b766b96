# SPDX-License-Identifier: Apache-2.0
"""The health of GPUs: gpuhost-devices with kernel messages from a socket, and a kubelet that watches."""
import json
import os
import shutil
import socket
import subprocess
import time

import tap
from fake_host import read, scratch, write
from fake_kubelet import Kubelet
from programs import end, environment, run, start

A, B, MIG = "GPU-aaaa", "GPU-bbbb", "MIG-cccc"
LOST_MESSAGES = os.path.join(os.path.abspath(tap.TOP_BUILDDIR), "tests/host/lost-messages.so")
OFFER, ANSWER = "/run/gpuhost/devices/offer.json", "/run/gpuhost-devices/answer.json"


def gpu(uuid, address, **more):
    return {"uuid": uuid, "address": address, "minor": 0, "numa": None, "model": "H100", "memory_mib": 1, "compute_capability": "9.0",
            "split": False, "instances": [], "problem": ""} | more


INSTANCE = {"uuid": MIG, "profile": "1g.10gb", "index": 0, "gpu_instance": 5, "compute_instance": 0}
GPUS = [gpu(A, "0000:01:00.0"), gpu(B, "0000:02:00.0"), gpu("GPU-split", "0000:03:00.0", split=True, instances=[INSTANCE])]


class Host:
    """A tree with an offer, and gpuhost-devices."""

    def __init__(self):
        self.scratch = scratch()
        self.root = os.path.join(self.scratch, "root")
        for directory in "/run/gpuhost/devices", "/run/gpuhost/gpu-faults", "/run/gpuhost-devices/registry":
            os.makedirs(self.root + directory)
        self.offers, self.clears, self.sequence, self.process, self.log, self.sharing = 0, [], 100, None, "", None
        self.strategies = None
        self.ring = []
        self.offer()

    def offer(self, **health):
        """Offers the GPUs, with rules for their health."""
        self.offers += 1
        rules = {"ignore_xids": [], "fatal_xids": [], "marks": [], "clears": self.clears} | health
        write(self.root + OFFER + ".new", json.dumps({
            "version": 1, "id": str(self.offers), "resource": "nvidia.com/gpu", "mig_strategy": "mixed", "withdrawn": "",
            "gpus": GPUS, "health": rules, "sharing": self.sharing, "device_list_strategy": self.strategies}))
        os.rename(self.root + OFFER + ".new", self.root + OFFER)

    def start(self):
        self.spawn()
        self.kubelet = Kubelet(self.root + "/run/gpuhost-devices/registry/nvidia.com_gpu.sock")

    def spawn(self):
        """Starts gpuhost-devices as after a restart: the kernel's log begins with the first message that it kept."""
        self.kernel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for record in self.ring:
            self.kernel.send(record)
        log = open(os.path.join(self.scratch, "log"), "a+")
        self.process = start([os.path.join(tap.TOP_BUILDDIR, "gpuhost-devices"), f"--root={self.root}"], stdin=theirs,
                             stdout=log, stderr=log, env=environment(LD_PRELOAD=LOST_MESSAGES))
        theirs.close()
        log.close()

    def stop(self):
        self.kubelet.close()
        self.kernel.close()
        end(self.process, 15)
        self.left = sorted(os.listdir(self.root + "/run/gpuhost-devices"))

    def say(self, *lines):
        """Adds messages to the kernel's log."""
        for line in lines:
            self.sequence += 1
            record = f"3,{self.sequence},{self.sequence}000,-;NVRM: {line}\n SUBSYSTEM=pci\n".encode()
            self.ring.append(record)
            self.kernel.send(record)

    def answer(self):
        return json.loads(read(self.root + ANSWER))

    def since(self, uuid):
        return next((one["since_us"] for one in self.answer()["health"] if one["uuid"] == uuid and one["xid"]), None)

    def clear(self, uuid):
        """Clears a device. The clock was set back after the errors."""
        self.clears = [one for one in self.clears if one["uuid"] != uuid] + [{"uuid": uuid, "time_us": self.offers}]
        self.offer()

    def messages(self):
        return read(os.path.join(self.scratch, "log"))


def xid(number, place="PCI:0000:01:00", text="text"):
    return f"Xid ({place}): {number}, pid=1, name=trainer, {text}"


def recovery(action):
    return f"Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to {action}"


def check_fault(t, host):
    t.equal(host.kubelet.devices, {A: "Healthy", B: "Healthy"}, "all GPUs are healthy without messages")
    begin = time.monotonic()
    host.say("loading something", xid(79, text="GPU has fallen off the bus."))
    t.equal(host.kubelet.next(), {A: "Unhealthy", B: "Healthy"}, "the kubelet gets exactly the failed GPU as unhealthy")
    took = time.monotonic() - begin
    t.ok(took < 1, "the kubelet knows within a second", took)
    health = wait(lambda: host.answer()["health"])[0]
    t.equal((health["uuid"], health["state"], health["recovery"], health["xid"], health["reason"]),
            (A, "unhealthy", "reboot", 79, "Xid 79: GPU has fallen off the bus."), "the answer has the reason")
    t.ok(abs(health["since_us"] / 1e6 - time.time()) < 60, "the answer has the time of the error", health)
    t.ok(f"{A} at 0000:01:00.0 is unhealthy: Xid 79" in host.messages() and "systemctl reboot" in host.messages(),
         "the journal says why and what to do", host.messages())


def restart(host):
    """Restarts after the kernel has overwritten its messages."""
    host.stop()
    host.ring.clear()
    host.start()


def check_restart(t, host):
    restart(host)
    t.equal(host.kubelet.devices, {A: "Unhealthy", B: "Healthy"}, "a restart keeps faults that the kernel's log has lost")


def check_recovery(t, host):
    host.say(recovery("0x0 (None)"))
    t.equal(host.kubelet.next()[A], "Healthy", "a GPU is healthy when the driver requires no action")
    t.ok(wait(lambda: host.answer()["health"] == []), "the answer lists no healthy GPU")
    t.ok("is healthy again" in host.messages(), "the journal says that a GPU is healthy again", host.messages())
    host.say(recovery("0x1 (GPU Reset Required)"))
    t.equal(host.kubelet.next()[A], "Unhealthy", "a GPU is unhealthy when the driver requires a reset")
    host.say("loading NVIDIA UNIX x86_64 Kernel Module  550.163.01")
    t.equal(host.kubelet.next()[A], "Healthy", "a load of the driver ends what needs a reset")
    host.stop()
    host.start()
    t.equal(host.kubelet.devices[A], "Healthy", "messages that were read are not read again")


def check_crash(t, host):
    """A killed process leaves its files. The next one is not mistaken for it."""
    host.kubelet.close()
    host.kernel.close()
    host.process.kill()
    host.process.wait()
    left = host.root + "/run/gpuhost-devices/"
    sockets = [name for name in os.listdir(left) if name.endswith(".sock")]
    write(left + "registry/nvidia.com_gone.sock", "")
    t.ok(sockets and os.path.exists(host.root + ANSWER), "a killed process leaves its files", os.listdir(left))
    host.offer()
    host.start()
    t.ok(not set(sockets) & set(os.listdir(left)) and os.listdir(left + "registry").count("nvidia.com_gone.sock") == 0,
         "a start removes files of a killed process", os.listdir(left), os.listdir(left + "registry"))
    t.equal(wait(lambda: host.answer()["id"] == str(host.offers)), True, "the answer is for the present offer")
    host.stop()
    t.equal(host.left, ["registry"], "the end leaves nothing beside the registry")
    host.start()


def check_noted(t, host):
    before = host.offers
    host.say(xid(13), *[xid(13, text=f"again {i}") for i in range(200)])
    noted = wait(lambda: host.answer()["health"])
    t.equal([(one["uuid"], one["state"]) for one in noted], [(A, "noted")], "an application's error is noted")
    host.offer(fatal_xids=[13])
    t.equal(host.kubelet.next()[A], "Unhealthy", "FatalXids= makes the error fatal")
    host.offer(ignore_xids=[13])
    t.equal(host.kubelet.next()[A], "Healthy", "without FatalXids= it is not")
    t.equal(wait(lambda: host.answer()["id"] == str(before + 2) and host.answer())["health"], [], "IgnoreXids= hides the error")


def check_clear(t, host):
    host.offer(marks=[{"uuid": B, "reason": "burn-in", "since_us": 7}])
    t.equal(host.kubelet.next(), {A: "Healthy", B: "Unhealthy"}, "a mark makes a device unhealthy")
    host.stop()
    host.start()
    t.equal(host.kubelet.devices[B], "Unhealthy", "a mark lasts over a restart")
    host.say(xid(119, "PCI:0000:02:00"))
    wait(lambda: any(one["xid"] == 119 for one in host.answer()["health"]))
    host.clear(B)
    t.equal(host.kubelet.next()[B], "Healthy", "a clear ends the fault")
    restart(host)
    t.equal(host.kubelet.devices[B], "Healthy", "a clear lasts over a restart")
    host.say(xid(119, "PCI:0000:02:00"))
    t.equal(host.kubelet.next()[B], "Unhealthy", "a later fault counts after a clear")
    since = wait(lambda: host.since(B))
    host.say(*[xid(119, "PCI:0000:02:00")] * 50, xid(31, "PCI:0000:01:00"))
    wait(lambda: any(one["xid"] == 31 for one in host.answer()["health"]))
    t.ok(since == host.since(B), "a repeated fault does not change the answer")
    restart(host)
    t.equal(host.kubelet.devices[B], "Unhealthy", "a fault after a clear lasts over a restart")
    host.clear(B)
    host.kubelet.next()


def check_shared(t, host):
    host.sharing = {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}], "renamed": False, "one_each": False, "packed": False}
    host.offer()
    t.equal(host.kubelet.next(), {f"{uuid}::{i}": "Healthy" for uuid in (A, B) for i in (0, 1)}, "a shared GPU is several devices")
    t.equal(host.kubelet.allocate(f"{A}::0", f"{A}::1", f"{B}::1"), [f"nvidia.com/gpu={A}", f"nvidia.com/gpu={B}"], "a container gets each GPU once")
    host.say(xid(119, "PCI:0000:02:00"))
    t.equal({one: health for one, health in host.kubelet.next().items() if health != "Healthy"},
            {f"{B}::{i}": "Unhealthy" for i in (0, 1)}, "all replicas of a GPU are unhealthy")
    t.equal(host.kubelet.allocate(f"{B}::0"), None, "an unhealthy replica is refused")
    host.clear(B)
    host.kubelet.next()
    host.sharing["one_each"] = True
    host.offer()
    wait(lambda: host.answer()["id"] == str(host.offers))
    t.equal((host.kubelet.allocate(f"{A}::0", f"{B}::0"), host.kubelet.allocate(f"{A}::1")), (None, [f"nvidia.com/gpu={A}"]),
            "failRequestsGreaterThanOne allows one")
    host.sharing = None
    host.offer()
    t.equal(host.kubelet.next(), {A: "Healthy", B: "Healthy"}, "a GPU that is no longer shared is one device")


def check_strategies(t, host):
    """Other strategies are in effect on the connection that the kubelet has."""
    root, both = "/var/run/nvidia-container-devices", [f"{A},{B}", f"nvidia.com/gpu={A},nvidia.com/gpu={B}"]
    for strategies, wanted in ((["envvar"], [{"NVIDIA_VISIBLE_DEVICES": both[0]}, {}, {}]),
                               (["cdi-annotations", "envvar"], [{"NVIDIA_VISIBLE_DEVICES": both[0]}, {}, {f"cdi.k8s.io/gpu_{A}": both[1]}]),
                               (["envvar", "volume-mounts"], [{"NVIDIA_VISIBLE_DEVICES": root}, {f"{root}/{A}": "/dev/null", f"{root}/{B}": "/dev/null"}, {}])):
        host.strategies = strategies
        host.offer()
        wait(lambda: host.answer()["id"] == str(host.offers))
        t.equal((host.kubelet.given(A, B), host.kubelet.allocate(A, B)), (wanted, []), f"a container gets its GPUs by {' and '.join(strategies)}")
    host.strategies = None
    host.offer(marks=[{"uuid": B, "reason": "burn-in", "since_us": 7}])
    t.equal(host.kubelet.next(), {A: "Healthy", B: "Unhealthy"}, "new strategies end no connection of the kubelet")
    host.offer()
    host.kubelet.next()
    t.equal(host.kubelet.allocate(A), [f"nvidia.com/gpu={A}"], "an offer without strategies names CDI devices")


def check_mig(t, host):
    mig = Kubelet(host.root + "/run/gpuhost-devices/registry/nvidia.com_mig-1g.10gb.sock")
    host.say(xid(109, "PCI:0000:03:00 GPU-I:05 GPU-CI:00"))
    t.equal(mig.next(), {MIG: "Unhealthy"}, "a MIG instance is unhealthy on its own")
    text = run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "gpu", "list", "--root", host.root]).stdout
    t.ok("unhealthy" in text and "Xid 109" in text, "gpu list shows the health", text)
    mig.close()


def check_hostile(t, host):
    """Nothing of these lines is a message of the driver."""
    lines = [b";", b"3,1,1,-;" + b"\xff" * 9000, b"14,9999,1,-;NVRM: " + xid(79).encode(), b"3,9999,1,-;trainer: NVRM: " + xid(79).encode(),
             b"3,9999,1,-;NVRM: Xid (PCI:0000:01:00): 79999999999999999999, x"]
    for line in lines:
        host.kernel.send(line)
    host.say(xid(79, "PCI:0000:02:00"))
    t.equal(host.kubelet.next(), {A: "Healthy", B: "Unhealthy"}, "other bytes than the driver's change nothing")
    with open(f"/proc/{host.process.pid}/fdinfo/0") as file:
        t.ok(int(file.read().split("flags:")[1].split()[0], 8) & os.O_NONBLOCK, "reading never blocks")


def check_idle(t, host):
    """Counts how often the process was scheduled while nothing happens."""
    def switches():
        return sum(int(line.split()[1]) for line in read(f"/proc/{host.process.pid}/status").splitlines() if "ctxt_switches" in line)
    time.sleep(0.3)
    before = switches()
    time.sleep(2)
    t.ok(switches() - before <= 1, "nothing wakes the program", switches() - before)


def check_terminal(t, host):
    host.stop()
    process = start([os.path.join(tap.TOP_BUILDDIR, "gpuhost-devices"), f"--root={host.root}"], stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, env=environment())
    kubelet = Kubelet(host.root + "/run/gpuhost-devices/registry/nvidia.com_gpu.sock")
    t.equal(kubelet.devices[B], "Unhealthy", "without kernel messages it serves, with the known faults")
    t.equal(states(host), {A: "noted", B: "unhealthy", "GPU-split": "unknown"}, "gpu list knows no healthy GPU without kernel messages")
    kubelet.close()
    end(process, 15)
    t.ok("not /dev/kmsg" in process.stderr.read(), "the journal says that faults are not detected")


def states(host):
    """Returns the health of each GPU, as gpu list shows it."""
    listed = run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "gpu", "list", "--json", "--root", host.root]).stdout
    return {one["uuid"]: one["health"]["state"] for one in json.loads(listed)["gpus"]}


def check_messages_end(t, host):
    """The kernel's messages end while it serves."""
    host.start()
    for uuid in A, B:
        host.clear(uuid)
    t.ok(wait(lambda: set(states(host).values()) == {"healthy"}), "GPUs are healthy while messages are read", states(host))
    host.kernel.close()
    t.ok(wait(lambda: host.answer()["blind"]) and set(states(host).values()) == {"unknown"}, "health is unknown once the messages have ended", host.answer(), states(host))
    text = run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "gpu", "list", "--root", host.root]).stdout
    t.ok("the kernel's messages have ended" in text and "systemctl restart gpuhost-devices" in text, "gpu list says why and what to do", text)
    restart(host)
    t.ok(wait(lambda: not host.answer()["blind"]) and states(host)[A] == "healthy", "a restart ends it", states(host))
    host.stop()


def check_damaged_log(t, host):
    """The file of faults is damaged while the service is stopped."""
    file = host.root + "/run/gpuhost/gpu-faults/faults.json"
    host.ring.clear()
    host.start()
    host.say(xid(79))
    wait(lambda: states(host)[A] == "unhealthy")
    host.clear(A)
    wait(lambda: states(host)[A] == "healthy")
    host.say(xid(48))
    wait(lambda: states(host)[A] == "unhealthy")
    host.stop()
    write(file, "{")
    host.start()
    wait(lambda: states(host)[A] == "unhealthy")
    t.equal(states(host), {A: "unhealthy", B: "unknown", "GPU-split": "unknown"}, "a damaged file of faults makes other GPUs unknown")
    t.equal(read(os.path.dirname(file) + "/faults.damaged.json"), "{", "the damaged file is kept")
    check_missing(t, host, "the file of faults was damaged")
    host.ring.pop()  # the load
    os.unlink(file)
    end_without_offer(host)
    host.start()
    t.ok(wait(lambda: states(host)[B] == "unknown"), "a damaged file that no process has replaced makes GPUs unknown", states(host))
    t.equal(states(host)[A], "unhealthy", "a clear does not end errors of after it that are read again")
    check_missing(t, host, "the file of faults was damaged")
    write(file, "{")
    host.start()
    t.ok(wait(lambda: states(host)[B] == "healthy"), "no error is missing if the kernel still has the load", states(host))
    host.stop()


def end_without_offer(host):
    """Starts gpuhost-devices, which ends before it knows the offer."""
    write(host.root + OFFER, "{")
    host.spawn()
    host.process.wait(20)
    host.kernel.close()
    host.offer()


def check_missing(t, host, why):
    """Earlier errors may be missing until the driver is loaded."""
    host.stop()
    host.start()
    text = run([os.path.join(tap.TOP_BUILDDIR, "gpuhostctl"), "gpu", "list", "--root", host.root]).stdout
    t.ok(f"earlier errors may be missing: {why}" in text and "nvidia-smi -q" in text and "systemctl restart" not in text,
         f"gpu list says after a restart that {why}", text)
    host.say("loading NVIDIA UNIX x86_64 Kernel Module  550.163.01")
    t.ok(wait(lambda: states(host)[B] == "healthy"), f"a load of the driver ends that {why}", host.answer())
    host.stop()


def check_lost_messages(t, host):
    """The kernel overwrites messages before they are read."""
    host.ring.clear()
    host.ring.append(b"lost")
    host.start()
    host.say("something")
    t.ok(wait(lambda: states(host)[B] == "healthy"), "messages of before the start are not missing", states(host))
    host.kernel.send(b"lost")
    t.ok(wait(lambda: states(host)[B] == "unknown"), "a lost message makes the health unknown", host.answer())
    host.clear(A)
    host.clear(B)
    restart(host)
    t.equal(states(host)[A], "unknown", "the health stays unknown until each GPU is cleared")
    host.clear("GPU-split")
    t.ok(wait(lambda: set(states(host).values()) == {"healthy"}), "the clear of each GPU ends that errors may be missing", states(host))
    host.kernel.send(b"lost")
    t.ok(wait(lambda: states(host)[B] == "unknown"), "another lost message makes the health unknown again", host.answer())
    check_missing(t, host, "the kernel has overwritten messages before they were read")


def wait(condition):
    """Returns the first true value of the condition, or the last value."""
    deadline = time.monotonic() + 20
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return value


t = tap.Tap()
host = Host()
try:
    host.start()
    for check in (check_fault, check_restart, check_recovery, check_crash, check_noted, check_clear, check_shared, check_strategies, check_mig, check_hostile, check_idle, check_terminal, check_messages_end, check_damaged_log, check_lost_messages):
        check(t, host)
finally:
    shutil.rmtree(host.scratch)
t.done()
