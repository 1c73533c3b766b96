# SPDX-License-Identifier: Apache-2.0
"""The interfaces that gpuhostd exports are those of systemd/org.gpuhost1.xml, names and annotations and all."""
import os
import xml.etree.ElementTree as ET

import programs
import tap



def members(interface):
    """What a caller can tell apart, whatever the order it is written in."""
    found = set()
    for member in interface:
        name = f"{member.tag} {member.get('name')} {member.get('type', '')} {member.get('access', '')}"
        directions = {"method": "in", "signal": "out"}
        arguments = [
            (a.get("direction", directions.get(member.tag)), a.get("type"), a.get("name")) for a in member.findall("arg")
        ]
        annotations = sorted((a.get("name"), a.get("value")) for a in member.findall("annotation"))
        # Arguments of one direction are in order; how the two directions are mixed says nothing.
        inward = [a for a in arguments if a[0] == "in"]
        outward = [a for a in arguments if a[0] == "out"]
        found.add(f"{name.strip()} {inward} {outward} {annotations}")
    return found


def path_of(interface):
    """An object is called as its interface; the manager is the root of all."""
    room = interface.rpartition(".")[2].lower()
    return "/org/gpuhost1" if room == "manager" else f"/org/gpuhost1/{room}"


def exported_names(daemon, path):
    """Our interfaces at the path and below."""
    node = ET.fromstring(programs.run([daemon, f"--bus-introspect={path}"]).stdout)
    names = {i.get("name") for i in node.findall("interface") if i.get("name").startswith("org.gpuhost1.")}
    for child in node.findall("node"):
        names |= exported_names(daemon, f"{path}/{child.get('name')}")
    return names


def main():
    t = tap.Tap()
    documented = {
        interface.get("name"): interface
        for interface in ET.parse(os.path.join(tap.TOP_SRCDIR, "systemd", "org.gpuhost1.xml")).getroot().iter("interface")
    }
    t.ok("org.gpuhost1.Manager" in documented, "the manager's interface is documented", documented)
    daemon = os.path.join(tap.TOP_BUILDDIR, "gpuhostd")
    for name in documented:
        path = path_of(name)
        run = programs.run([daemon, f"--bus-introspect={path}"])
        exported = {i.get("name"): i for i in ET.fromstring(run.stdout).iter("interface")}.get(name)
        if not t.ok(exported is not None, f"{name} is exported at {path}", run.stderr):
            continue
        t.equal("\n".join(sorted(members(exported))), "\n".join(sorted(members(documented[name]))), f"{name} is as documented")
    t.equal(sorted(exported_names(daemon, "/org/gpuhost1")), sorted(documented), "no other interface of ours is exported")
    run = programs.run([daemon, "--bus-introspect=/nowhere"])
    t.ok("org.gpuhost1" not in run.stdout, "nothing of ours is exported elsewhere")
    t.done()


main()
