# SPDX-License-Identifier: Apache-2.0
"""gpuhostd exports the interfaces of systemd/org.gpuhost1.xml, with the same names and annotations."""
import os
import xml.etree.ElementTree as ET

import programs
import tap



def members(interface):
    """Returns the members as a caller sees them, without the order in the document."""
    found = set()
    for member in interface:
        name = f"{member.tag} {member.get('name')} {member.get('type', '')} {member.get('access', '')}"
        directions = {"method": "in", "signal": "out"}
        arguments = [
            (a.get("direction", directions.get(member.tag)), a.get("type"), a.get("name")) for a in member.findall("arg")
        ]
        annotations = sorted((a.get("name"), a.get("value")) for a in member.findall("annotation"))
        # Only the order of arguments of one direction matters.
        inward = [a for a in arguments if a[0] == "in"]
        outward = [a for a in arguments if a[0] == "out"]
        found.add(f"{name.strip()} {inward} {outward} {annotations}")
    return found


def path_of(interface):
    """Returns the object path of an interface: its name in lower case, the root for the manager."""
    room = interface.rpartition(".")[2].lower()
    return "/org/gpuhost1" if room == "manager" else f"/org/gpuhost1/{room}"


def exported_names(daemon, path):
    """Returns gpuhost's interfaces at the path and below."""
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
    t.ok("org.gpuhost1.Manager" in documented, "org.gpuhost1.xml documents org.gpuhost1.Manager", documented)
    daemon = os.path.join(tap.TOP_BUILDDIR, "gpuhostd")
    for name in documented:
        path = path_of(name)
        run = programs.run([daemon, f"--bus-introspect={path}"])
        exported = {i.get("name"): i for i in ET.fromstring(run.stdout).iter("interface")}.get(name)
        if not t.ok(exported is not None, f"{name} is exported at {path}", run.stderr):
            continue
        t.equal("\n".join(sorted(members(exported))), "\n".join(sorted(members(documented[name]))),
                f"{name} is exported as documented")
    t.equal(sorted(exported_names(daemon, "/org/gpuhost1")), sorted(documented),
            "no undocumented interface of gpuhost is exported")
    run = programs.run([daemon, "--bus-introspect=/nowhere"])
    t.ok("org.gpuhost1" not in run.stdout, "no interface of gpuhost is exported at other paths")
    t.done()


main()
