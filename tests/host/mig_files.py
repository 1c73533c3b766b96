# SPDX-License-Identifier: Apache-2.0
"""Hosts whose GPUs are split into MIG instances, by the stub of NVML (tests/support/stub_nvml_mig.c)."""
import glob
import json
import os
import shutil

import tap
from fake_host import FakeHost, prepare, read, write
from programs import run

MINORS = "/proc/driver/nvidia-caps/mig-minors"
STUB = "/stub-nvml"
NVML = "devices 2\n"
KEPT = "/var/lib/gpuhost/mig.json"
GPU = "GPU-00000000-0000-0000-0000-00000000000"


def instance(identity, profile, start, size, *inner):
    """Describes a GPU instance. `inner` has the profile, start and size of each compute instance."""
    computes = [{"id": number, "profile": each[0], "engine_profile": 0, "start": each[1], "size": each[2], "uuid": ""}
                for number, each in enumerate(inner)]
    return {"id": identity, "profile": profile, "start": start, "size": size, "compute_instances": computes}


# The first GPU has two instances of one slice, and one of three slices with two compute instances. The second
# GPU has one instance.
SPLIT = {"gpus": [
    {"uuid": GPU + "1", "address": "0000:11:00.0", "split": True, "problem": "", "instances": [
        instance(2, 2, 4, 4, (0, 0, 1), (1, 1, 2)), instance(7, 0, 0, 1, (0, 0, 1)), instance(9, 0, 2, 1, (0, 0, 1))]},
    {"uuid": GPU + "0", "address": "0000:10:00.0", "split": True, "problem": "", "instances": [instance(0, 4, 0, 8, (4, 0, 7))]}]}


class MigHost(FakeHost):
    """Its kernel lists the nodes of all MIG instances."""

    def start_kernel(self):
        super().start_kernel()
        lines = ["config 1", "monitor 2"]
        for gpu in range(2):
            for outer in range(15):
                lines.append(f"gpu{gpu}/gi{outer}/access {10 + gpu * 200 + outer * 10}")
                lines += [f"gpu{gpu}/gi{outer}/ci{inner}/access {11 + gpu * 200 + outer * 10 + inner}" for inner in range(7)]
        write(self.path(MINORS), "\n".join(lines) + "\n")


def install_nvml(host):
    """Installs gpuhost-nvml in the worker's directory."""
    place = os.path.dirname(json.loads(read(host.path("/run/cdi/nvidia.yaml")))["containerEdits"]["hooks"][0]["path"])
    os.makedirs(host.path(place))
    os.symlink(os.path.join(tap.TOP_BUILDDIR, "gpuhost-nvml"), host.path(place + "/gpuhost-nvml"))
    write(host.path(STUB), NVML)


def nvml(host, *words):
    """Runs gpuhost-nvml with the library of the loaded driver, which is in the store."""
    version = host.loaded().get("nvidia", "*")
    library = glob.glob(host.path(f"/var/lib/gpuhost/driver/{version}/userland/*/lib/libnvidia-ml.so.{version}"))[0]
    ended = run([os.path.join(tap.TOP_BUILDDIR, "gpuhost-nvml"), library, *words], env={"FAKE_ROOT": host.root})
    return json.loads(ended.stdout.splitlines()[-1])


def geometry(host):
    """Returns the GPUs that are split, by UUID."""
    return {gpu["uuid"]: gpu for gpu in nvml(host, "mig")["gpus"] if gpu["split"]}


def split(host, wanted=None):
    """Splits the GPUs as an administrator does with nvidia-smi."""
    write(host.path("/wanted"), json.dumps(wanted or SPLIT))
    return nvml(host, "mig-restore", host.path("/wanted"))


def destroy(host):
    """Destroys all instances, as an administrator does with nvidia-smi."""
    os.unlink(host.path("/proc/driver/nvidia/stub-mig"))
    for directory in glob.glob(host.path("/proc/driver/nvidia/capabilities/gpu*")):
        shutil.rmtree(directory)


def prepare_split(host):
    with open(os.path.join(tap.TOP_BUILDDIR, "tests/unit/stub-nvml.so"), "rb") as file:
        prepare(host, nvml=file.read())
    install_nvml(host)
    split(host)
