# SPDX-License-Identifier: Apache-2.0
"""Finds faults of a store and a catalogue by reading their files."""
import hashlib
import json
import os


def is_whole(path, name):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest() == name


def store_faults(state):
    """Returns (faults, sizes of the blobs)."""
    store = os.path.join(state, "store/sha256")
    names = os.listdir(store) if os.path.isdir(store) else []
    sizes = {name: os.stat(os.path.join(store, name)).st_size for name in names}
    return [f"blob {name}: digest mismatch ({size} bytes)" for name, size in sizes.items()
            if not is_whole(os.path.join(store, name), name)], sizes


def record_faults(directory, sizes):
    def text(name):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return file.read()

    name = os.path.basename(directory)
    try:
        entry, images = json.loads(text("record.json")), json.loads(text("images.json"))
        blobs = text("blobs").splitlines()
    except (OSError, ValueError) as error:
        return [f"the record of {name} is incomplete: {error}"], None
    wrong = [f"{name} lacks blob {line}" for line in blobs if sizes.get(line[:64]) != int(line[65:] or -1)]
    if (len(images), len(blobs)) != (entry["images"], entry["blobs"]):
        wrong.append(f"the record of {name} counts {entry['images']} images and {entry['blobs']} blobs, "
                     f"not {len(images)} and {len(blobs)}")
    return wrong, entry["generation"]


def state_faults(state):
    """Returns (faults, bundles with generations) of /var/lib/gpuhost before any program has changed it."""
    wrong, sizes = store_faults(state)
    catalogue = os.path.join(state, "catalogue")
    bundles = []
    for name in sorted(os.listdir(catalogue) if os.path.isdir(catalogue) else []):
        if name.startswith("."):
            continue
        faults, generation = record_faults(os.path.join(catalogue, name), sizes)
        wrong += faults
        bundles.append([name, generation])
    return wrong, bundles
