# SPDX-License-Identifier: Apache-2.0
"""The tree of a host as JSON: an object of the paths that changed since an earlier tree.

A directory has its mode, a link its target. A file has mode, time (by which gpuhostd recognizes its own
files), and its text, bytes, number of zeros, or appended text. A removed path is null. The tree's own path is
written as @ROOT@."""
import base64
import os
import shutil
import stat

ROOT = "@ROOT@"


def entry(root, path):
    """Returns the entry of a path, or None for sockets and the like, which cannot be recreated."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return {"link": os.readlink(path).replace(root, ROOT)}
    if stat.S_ISDIR(status.st_mode):
        return {"directory": oct(stat.S_IMODE(status.st_mode))}
    if not stat.S_ISREG(status.st_mode):
        return None
    with open(path, "rb") as file:
        content = file.read().replace(root.encode(), ROOT.encode())
    file = {"mode": oct(stat.S_IMODE(status.st_mode)), "time": status.st_mtime_ns}
    if len(content) > 1000 and not content.strip(b"\0"):
        return file | {"zeros": len(content)}
    try:
        return file | {"text": content.decode()}
    except UnicodeDecodeError:
        return file | {"base64": base64.b64encode(content).decode()}


def read(root, place=None):
    """Returns {path: entry} of a tree. `place` is its path when its links and files were created."""
    found = {}
    for directory, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(directory, name)
            if (what := entry(place or root, path)) is not None:
                found[os.path.relpath(path, root)] = what
    return found


def change(before, after):
    """Returns the change of one path."""
    if before and before.get("text") and after.get("text", "").startswith(before["text"]) and before["mode"] == after["mode"]:
        return {"append": after["text"][len(before["text"]):], "time": after["time"]}
    return after


def difference(before, after):
    """Returns the changes with which update() makes `after` from `before`."""
    gone = {path: None for path in before if path not in after}
    return gone | {path: change(before.get(path), what) for path, what in after.items() if before.get(path) != what}


def update(before, changes):
    after = dict(before)
    for path, what in changes.items():
        if what is None:
            del after[path]
        elif "append" in what:
            after[path] = before[path] | {"text": before[path]["text"] + what["append"], "time": what["time"]}
        else:
            after[path] = what
    return after


def write(root, path, what):
    if "link" in what:
        os.symlink(what["link"].replace(ROOT, root), path)
        return
    if "directory" in what:
        os.makedirs(path)
        os.chmod(path, int(what["directory"], 8))
        return
    content = bytes(what.get("zeros", 0)) or base64.b64decode(what.get("base64", "")) or what.get("text", "").encode()
    with open(path, "wb") as file:
        file.write(content.replace(ROOT.encode(), root.encode()))
    os.chmod(path, int(what["mode"], 8))
    os.utime(path, ns=(what["time"], what["time"]))


def make(root, tree):
    """Replaces the directory `root` with the tree."""
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    for path, what in sorted(tree.items()):
        write(root, os.path.join(root, path), what)
