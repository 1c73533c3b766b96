# SPDX-License-Identifier: Apache-2.0
"""The tree of a host as text: what changed in it since an earlier one, a JSON object of its paths.

A directory is its mode, a link its target, a file its mode, its time (by which gpuhostd knows its own files) and its text, bytes, number of zeros, or the text that was appended to it; what is
gone is null. The tree's own place is written as @ROOT@."""
import base64
import os
import shutil
import stat

ROOT = "@ROOT@"


def entry(root, path):
    """None of a socket and the like, which nobody can start again."""
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
    """{path: entry} of a tree; `place` is where it was when its links and files were made."""
    found = {}
    for directory, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(directory, name)
            if (what := entry(place or root, path)) is not None:
                found[os.path.relpath(path, root)] = what
    return found


def change(before, after):
    """Of one path."""
    if before and before.get("text") and after.get("text", "").startswith(before["text"]) and before["mode"] == after["mode"]:
        return {"append": after["text"][len(before["text"]):], "time": after["time"]}
    return after


def difference(before, after):
    """What update() makes `after` of `before` with."""
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
    """The tree, in place of what is there."""
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    for path, what in sorted(tree.items()):
        write(root, os.path.join(root, path), what)
