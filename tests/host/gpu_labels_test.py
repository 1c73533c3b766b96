# SPDX-License-Identifier: Apache-2.0
"""Labels of GPUs beside go-nvlib's: what go-nvml's mock servers are (nvlib.json) goes into NVML's stub, through
gpuhost-nvml and a worker into the offer and the file of Node Feature Discovery.

nvlib.json is the output of tests/cluster/modules/nvlib, and `make check-cluster` compares the two. The mocks have no
PCI addresses, PCI classes, machine, MIG devices, fabrics or NVLinks, so labels of these are not compared here. The
stub has one version of CUDA for all, as the driver's version is that of the fake host."""
import json
import os

import tap
from devices_files import configure, offer, prepare_with_nvml
from fake_host import read, run_checks, write

FEATURES = "/etc/kubernetes/node-feature-discovery/features.d/gpuhost"
PER_GPU = 7  # MIG devices that a GPU can have
ENGINES = {"copy": "copy_engines", "decoder": "decoders", "encoder": "encoders", "jpeg": "jpeg_engines", "ofa": "ofa_engines"}
LEAST = 600  # labels that are compared

with open(os.path.join(os.path.dirname(__file__), "nvlib.json")) as file:
    SERVERS = json.load(file)
compared = 0


def labels_of(host, stub, mig, number):
    """Returns the labels for GPUs that the stub describes. Another ignored Xid makes the worker read them again."""
    write(host.path("/stub-nvml"), stub)
    configure(host, f"[Devices]\nServe=plugin\nLabels=nfd\nMigStrategy={mig}\nIgnoreXids={number}\n")
    host.ctl("apply", "--only", "devices", check=0)
    return dict(line.removeprefix("nvidia.com/").split("=", 1) for line in read(host.path(FEATURES)).splitlines())


def expected_of_gpu(gpu):
    major, minor = gpu["compute_capability"].split(".")
    return {"gpu.product": gpu["name"].replace(" ", "-"), "gpu.memory": str(gpu["memory_mib"]), "gpu.compute.major": major, "gpu.compute.minor": minor,
            "gpu.family": gpu["architecture"].lower().replace(" ", "-"), "mig.capable": str(gpu["mig_capable"]).lower()}


def expected_of_profile(gpu, profile, resource):
    has = profile["attributes"]
    return {f"{resource}.product": f"{gpu['name'].replace(' ', '-')}-MIG-{profile['name'].replace('+', '.')}", f"{resource}.memory": str(has["memory_mib"]),
            f"{resource}.multiprocessors": str(has["multiprocessors"]), f"{resource}.slices.gi": str(has["gpu_slices"]),
            f"{resource}.slices.ci": str(has["compute_slices"])} | {f"{resource}.engines.{label}": str(has[name]) for label, name in ENGINES.items()}


def compare(t, labels, expected, what):
    global compared  # noqa: PLW0603 pylint: disable=global-statement
    t.equal({name: labels.get(name) for name in expected}, expected, what)
    compared += len(set(labels) & set(expected))


def model_lines(gpu):
    major, minor = gpu["compute_capability"].split(".")
    return "devices 2\n" + "".join(f"model {device} {gpu['memory_mib']} {major} {minor} {gpu['name']}\n" for device in (0, 1))


def instance_lines(profiles):
    """Gives MIG devices of these profiles to both GPUs of the host."""
    lines = "split 0\nsplit 1\n"
    for number, profile in enumerate(profiles):
        device, index = divmod(number, PER_GPU)
        lines += f"instance {device} {index} {index + 1} 0 {profile['number']} MIG-{number}\n"
        lines += f"attributes {device} {index + 1} " + " ".join(str(one) for one in profile["attributes"].values()) + "\n"
    return lines


def check_whole(t, host):
    for number, (name, server) in enumerate(SERVERS.items()):
        gpu = server["gpu"]
        compare(t, labels_of(host, model_lines(gpu), "none", number), expected_of_gpu(gpu), f"{name}: labels of whole GPUs are go-nvlib's")


def check_profiles(t, host):
    for number, (name, server) in enumerate(SERVERS.items()):
        gpu = server["gpu"]
        for begin in range(0, len(gpu["profiles"]), 2 * PER_GPU):
            some = gpu["profiles"][begin:begin + 2 * PER_GPU]
            labels = labels_of(host, model_lines(gpu) + instance_lines(some), "mixed", 100 + 10 * number + begin)
            made = [one["profile"] for card in sorted(offer(host)["gpus"], key=lambda card: -card["minor"]) for one in card["instances"]]
            t.equal(made, [profile["name"] for profile in some], f"{name}: profiles from {begin} have go-nvlib's names")
            expected = {}
            for profile in some:
                expected |= expected_of_profile(gpu, profile, "mig-" + profile["name"].replace("+", "."))
            compare(t, labels, expected, f"{name}: labels of profiles from {begin} are go-nvlib's")


def check_single(t, host):
    for number, (name, server) in enumerate(SERVERS.items()):
        gpu = server["gpu"]
        profile = gpu["profiles"][0]
        labels = labels_of(host, model_lines(gpu) + instance_lines([profile] * PER_GPU * 2), "single", 200 + number)
        compare(t, labels, expected_of_profile(gpu, profile, "gpu"), f"{name}: labels of instances that are GPUs are go-nvlib's")


def check_number(t, _host):
    t.ok(compared >= LEAST, f"at least {LEAST} labels were compared", compared)


run_checks(check_whole, check_profiles, check_single, check_number, make=prepare_with_nvml)
