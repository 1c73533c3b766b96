#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_reference.py SRCDIR: writes the generated pages of docs/reference from the tables in the sources.
tests/source/reference.py compares them with the sources."""
import json
import os
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

SETTING = re.compile(r'\{\s*"(\w+)",\s*"(\w+)",\s*(?:core::)?SettingType::(\w+)')
TYPES = {"String": "text", "Boolean": "yes or no", "Span": "time span", "Unsigned": "number", "Choice": "one of", "Words": "list",
         "DriverVersion": "driver version", "ToolkitVersion": "toolkit version"}
SCHEMAS = "docs/reference/schemas/"
KIB = 1024


def page(title, introduction, *parts):
    """Returns a page. An introduction is a list of paragraphs, each as its lines."""
    return "\n".join([f"# {title}", "", *introduction, "", *parts]).rstrip() + "\n"


def table(heads, rows):
    rows = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join([f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]]) + "\n"


def code(text):
    return f"`{text}`" if text else ""


def plain(text):
    """Returns scdoc's text as Markdown."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?<![\w\\])_([^\s_](?:[^_\n]|\\_)*?)_(?!\w)", lambda found: code(found[1].replace("\\", "")), text)
    text = re.sub(r"\*([^*]+)\*(\(\d\))", r"\1\2", text)
    return re.sub(r"\*([^*]+)\*", r"**\1**", text).replace("\\", "").strip()


def settings(tree):
    types = {(section, key): kind for path, text in tree.items() if path.endswith(".cpp") and not path.startswith("tests/")
             for section, key, kind in SETTING.findall(text)}
    parts = []
    for section, body in re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", tree["systemd/gpuhostd.conf"], re.M | re.S):
        rows = []
        for meaning, key, value in re.findall(r"^# (.*)\n#(\w+)=(.*)$", body, re.M):
            rows.append([code(key + "="), TYPES[types[section, key]], code(value) or "empty", meaning])
        parts += [f"## [{section}]", table(["Setting", "Type", "Default", "Meaning"], rows)]
    return page("Settings", [
        "All settings of gpuhostd, in the order of `gpuhostctl config show`, which prints their values on a host.",
        "gpuhostd.conf(5) describes each setting, and the files in which you set it. After a change, run",
        "`gpuhostctl reload`."], *parts)


def described(manual, interface):
    """Returns {member: first sentence} of an interface's section in org.gpuhost1(5)."""
    section = re.search(rf"^# {interface.upper()}\n(.*?)(?=^# |\Z)", manual, re.M | re.S)
    meanings = {}
    for head, text in re.findall(r"^(\*\w+\*.*)\n((?:\t.*\n|\n(?=\t))+)", section[1] if section else "", re.M):
        first, *others = text.strip().split("\n\n")
        sentence = re.split(r"(?<=\.)\s+(?=[A-Z_])", plain(first))[0]
        if re.search(r"one of[^.]*:$", plain(first), re.I):  # a list follows
            sentence = plain(first) + " " + ", ".join(code(word.replace("\\", "")) for word in re.findall(r"- _([^_\n]+)_", others[0])) + "."
        meanings.update({name: sentence for name in re.findall(r"\*(\w+)\*", head)})
    return meanings


def merged(rows):
    """Joins neighbours with the same last cell, their meaning."""
    found = []
    for row in rows:
        if found and found[-1][-1] == row[-1]:
            found[-1] = [f"{one}, {other}" for one, other in zip(found[-1][:-1], row)] + [row[-1]]
        else:
            found.append(row)
    return found


def signature(member):
    def words(arguments):
        return ", ".join(f"{argument.get('type')} {argument.get('name')}" for argument in arguments)
    given = [argument for argument in member.findall("arg") if argument.get("direction", "in") == "in"]
    returned = [argument for argument in member.findall("arg") if argument.get("direction") == "out"]
    return f"{member.get('name')}({words(given)})" + (f" → {words(returned)}" if returned else "")


def dbus(tree):
    manual, root = tree["man/org.gpuhost1.5.scd"], ElementTree.fromstring(tree["systemd/org.gpuhost1.xml"])
    paths = dict((name, path) for path, name in re.findall(r"\*(/org/gpuhost1\S*)\*\n:.*interface _(org\.gpuhost1\.\w+)_", manual))
    rights = {f"{noun}.{name}": action for action, names in re.findall(r"\*org\.gpuhost1\.(\w+)\*\n:. (.*)", manual)
              for noun, name in re.findall(r"\*(\w+)\.(\w+)\*", names)}
    parts = []
    for interface in root.findall("interface"):
        name = interface.get("name")
        texts, noun = described(manual, name), name.rpartition(".")[2]
        parts += [f"## {name}", f"Object: `{paths[name].replace(chr(92), '')}`\n"]
        properties = merged([[code(m.get("name")), code(m.get("type")), texts[m.get("name")]] for m in interface.findall("property")])
        methods = [[code(signature(m)), rights.get(f"{noun}.{m.get('name')}", ""), texts[m.get("name")]] for m in interface.findall("method")]
        signals = merged([[code(signature(m)), texts[m.get("name")]] for m in interface.findall("signal")])
        for heads, rows in ((["Property", "Type", "Meaning"], properties), (["Method", "Right", "Meaning"], methods), (["Signal", "Meaning"], signals)):
            if rows:
                parts.append(table(heads, rows))
    return page("D-Bus interface", [
        "The members of the bus name `org.gpuhost1` on the system bus. org.gpuhost1(5) is the full description: options,",
        "errors and JSON documents. All properties are read-only. *Right* is the action of polkit without its prefix",
        "`org.gpuhost1.`; methods without one are for every user or, as org.gpuhost1(5) says, for root and a user of",
        "gpuhost."], *parts)


HOST_METRICS = [f"daemon/exporter/{name}_metrics.cpp" for name in ("operation", "driver", "component")]
HOST_METRICS.insert(0, "daemon/exporter/metrics.cpp")
CLUSTER_METRICS = ["daemon/cluster/node/metrics.cpp"]
REGISTRY_METRICS = ["images/registry/metrics.cpp"]
METRIC = re.compile(r'(?:family\(|one\(|(?P<kind>\w*)Number\{"\w+",)\s*(?:"(?P<name>\w+)"|name),\s*(?P<help>(?:"[^"]*"\s*)+)')


def metric_rows(source):
    """Returns the rows of the metrics in a source. A metric of a table of XNumber has the label x."""
    rows = []
    found = list(METRIC.finditer(source))
    for at, one in enumerate(found):
        body = source[one.end():found[at + 1].start() if at + 1 < len(found) else len(source)]
        labels = [label for call in re.findall(r"(?:sample|ratio)\((.*?)\);", body, re.S) for label in re.findall(r'\{"(\w+)",', call)]
        labels = dict.fromkeys(labels) if "family(" in one[0] else [one["kind"].lower()] if one["kind"] else []
        names = [one["name"]] if one["name"] else re.findall(r'"(\w+)"', re.search(r"for \(const char\* name : \{([^}]*)\}", source)[1])
        text = "".join(re.findall(r'"([^"]*)"', one["help"]))
        rows += [[code(name), "counter" if name.endswith("_total") else "gauge", ", ".join(map(code, labels)), text] for name in names]
    return rows


def metrics(tree):
    heads = ["Metric", "Type", "Labels", "Meaning"]
    host, cluster, registry = ([row for path in paths for row in metric_rows(tree[path])] for paths in (HOST_METRICS, CLUSTER_METRICS, REGISTRY_METRICS))
    return page("Metrics", [
        "The metrics of gpuhost-exporter(8), for each host, those of gpuhost-cluster(8), for hosts of a cluster, and those of",
        "gpuhost-registry(8), in Prometheus' text format. One scheme: units are base units, `_total` ends the name of a counter,",
        "`_timestamp_seconds` that of a time in seconds since 1970, `_ratio` that of a number from 0 to 1, and `_info` that of",
        "a metric whose value is always 1 and whose labels are the information."],
        "## A host\n",
        "If gpuhostd does not answer, there are only `gpuhost_up` and `gpuhost_build_info`. A metric without a value has no",
        "sample: without a loaded driver there is no `gpuhost_driver_info`.\n",
        table(heads, host),
        "## A host of a cluster\n",
        "`MetricsListen=` of gpuhostd.conf(5) is the address at which gpuhost-cluster serves these. The leader of a rollout",
        "also has the metrics of the fleet: all with the prefix `gpu_operator_`, which have the GPU Operator's names,",
        "`gpuhost_upgrade_hosts` and `gpuhost_gate_open`.\n",
        table(heads, cluster),
        "## The registry\n",
        "`http://127.0.0.1:299/metrics`, only for programs of the host. Counters begin when gpuhost-registry starts.\n",
        table(heads, registry))


def exit_status(tree):
    section = re.search(r"^# EXIT STATUS\n(.*?)(?=^# )", tree["man/gpuhostctl.1.scd"], re.M | re.S)[1]
    errors = {number: (name, bus) for name, bus, number in re.findall(r'Errc::\w+, "([\w-]+)", "([\w.]+)", (\d+)', tree["daemon/base/error.cpp"])}
    rows = []
    for number, text in re.findall(r"^[|]\S?\s+(\d+)\n:\S?\s+(.*)$", section, re.M):
        name, bus = errors.get(number, ("", ""))
        rows.append([number, code(name), code(bus), plain(text.removeprefix(f"_{name}_: ") if name else text)])
    notes = [textwrap.fill(plain(paragraph), 110) + "\n" for paragraph in section[section.rindex("\n|"):].split("\n\n")[1:]]
    return page("Exit status", [
        "The exit status of gpuhostctl, the name of the error in JSON documents (`code`), and its name on D-Bus."],
        table(["Status", "Error", "D-Bus error", "Meaning"], rows), *notes)


LIMITS = (  # heading, [meaning, unit, file, constant]
    ("Settings and policy", (
        ("a file of gpuhostd.conf(5), or of `bundle create --config`", "bytes", "daemon/base/ini.hpp", "ini_size_limit"),
        ("text of an upgrade policy (gpuhost-policy(5))", "bytes", "daemon/cluster/policy/texts.cpp", "longest"),
        ("file of `cluster policy --check`", "bytes", "daemon/ctl/cluster/policy.cpp", "largest"),
        ("pools, windows or gates of a policy, each", "", "daemon/cluster/policy/policy.cpp", "most_of_a_list"),
        ("waves of a policy", "", "daemon/cluster/policy/policy.cpp", "most_waves"),
        ("query of a gate", "bytes", "daemon/cluster/policy/gate.cpp", "longest_query"))),
    ("Driver packages and modules", (
        ("files of one import", "", "daemon/ctl/cli/input_files.hpp", "input_file_limit"),
        ("control member of a .deb", "bytes", "daemon/content/package/deb.cpp", "control_limit"),
        ("header of an RPM package", "bytes", "daemon/content/package/rpm.cpp", "most_header_bytes"),
        ("script before the archive of a .run file", "bytes", "daemon/content/package/makeself.hpp", "makeself_header_limit"),
        ("manifest of a .run file", "bytes", "daemon/content/package/run_manifest.hpp", "run_manifest_limit"),
        ("files in the manifest of a .run file", "", "daemon/content/package/run_manifest.cpp", "most_files"),
        ("files of a source directory", "", "daemon/ctl/cli/packed_files.cpp", "most_files"),
        ("size of a source directory", "bytes", "daemon/ctl/cli/packed_files.cpp", "most_bytes"),
        ("one kernel module", "bytes", "kmod/store/module_set.cpp", "module_limit"),
        ("built modules in the packages of one import", "", "kmod/store/package_modules.cpp", "most_modules"),
        ("Module.symvers of a kernel", "bytes", "kmod/module/symbol_versions.cpp", "symvers_limit"),
        ("time of one build, for all kernels together", "time", "kmod/build/build.hpp", "build_deadline"),
        ("time of `make` for one kernel", "time", "kmod/build/build.cpp", "make_deadline"),
        ("time to make one initramfs image", "time", "kmod/step_code.hpp", "initramfs_deadline"),
        ("time to stop or start a client unit", "time", "kmod/units/unit_steps.cpp", "unit_deadline"))),
    ("Bundles and images", (
        ("signed manifest of a bundle", "bytes", "images/bundle/layout.hpp", "manifest_limit"),
        ("members of a bundle", "", "images/bundle/manifest.cpp", "most_members"),
        ("images of a bundle", "", "images/bundle/manifest.cpp", "most_images"),
        ("size of a member, and sum of all sizes", "bytes", "images/bundle/manifest.cpp", "largest"),
        ("volumes of a bundle", "", "daemon/ctl/bundle/output.cpp", "most_volumes"),
        ("generation of a bundle", "", "images/bundle/manifest.hpp", "most_generation"),
        ("files in `/etc/gpuhost/trust.d`", "", "images/bundle/trust.cpp", "most_files"),
        ("one file of certificates or revocation lists", "bytes", "images/bundle/trust.cpp", "file_limit"),
        ("files of packages and other artifacts for one host", "", "images/import/artifacts.cpp", "most_files"),
        ("one document of an image: index, manifest, configuration", "bytes", "images/bundle/oci.hpp", "document_limit"),
        ("registry and repository of an image's name", "bytes", "images/bundle/reference.cpp", "most_characters"),
        ("tag of an image's name", "bytes", "images/bundle/reference.cpp", "most_tag"),
        ("images of an archive of docker or podman", "", "images/foreign/docker.cpp", "most_images"),
        ("layers of one of them", "", "images/foreign/docker.cpp", "most_layers"),
        ("pinned images", "", "images/store/pins.cpp", "most_pins"),
        ("inventory of a host", "bytes", "images/create/inventory.hpp", "inventory_limit"))),
    ("Registry and peers", (
        ("request line and headers of one connection to gpuhost-registry", "bytes", "images/registry/server.cpp", "head_limit"),
        ("connections from one address", "", "images/registry/server.cpp", "connections_of_a_host"),
        ("target of a request", "bytes", "images/registry/request.cpp", "longest_target"),
        ("tags in one answer", "", "images/registry/registry.cpp", "most_tags"),
        ("peers", "", "images/peers/discovery.cpp", "most_peers"),
        ("list of a peer's bundles", "bytes", "images/peers/offers.hpp", "offers_limit"),
        ("bundles in it", "", "images/peers/offers.hpp", "most_offers"))),
    ("Container runtimes and CDI", (
        ("files of one runtime's configuration", "", "daemon/runtime/inspect/config_file.hpp", "most_config_files"),
        ("one line of TOML", "bytes", "daemon/runtime/toml/toml.cpp", "longest_line"),
        ("output of a runtime that prints its configuration", "bytes", "daemon/runtime/inspect/trusted_program.cpp", "output_limit"),
        ("time of gpuhost-cdi-hook(8)", "seconds", "daemon/programs/gpuhost_cdi_hook.cpp", "deadline_s"),
        ("memory of gpuhost-cdi-hook(8)", "bytes", "daemon/runtime/hook/privileges.hpp", "max_memory"),
        ("config.json of a container", "bytes", "daemon/runtime/hook/container_state.hpp", "max_config"))),
    ("Kubernetes", (
        ("answer of the API server, or one event of a watch", "bytes", "daemon/cluster/kube/event_lines.hpp", "longest"),
        ("time for an answer", "time", "daemon/cluster/kube/api.cpp", "answer_deadline"),
        ("kubeconfig", "bytes", "daemon/cluster/kube/kubeconfig.cpp", "largest"),
        ("file with a token", "bytes", "daemon/cluster/kube/credentials.cpp", "largest_token"),
        ("answer of a gate's Prometheus", "bytes", "daemon/cluster/rollout/gate_keeper.cpp", "most_answer"),
        ("connections to the metrics' port", "", "daemon/metrics/server.cpp", "most_connections"))),
    ("D-Bus and operations", (
        ("files of one call", "", "daemon/bus/requests.cpp", "most_files"),
        ("one string argument", "bytes", "daemon/bus/call.cpp", "longest_string"),
        ("strings of one argument", "", "daemon/bus/call.cpp", "most_strings"),
        ("calls of one user that wait for polkit", "", "daemon/bus/authority.cpp", "most_checks_of_user"),
        ("calls of all users that wait for polkit", "", "daemon/bus/authority.cpp", "most_checks"),
        ("arguments of a call that waits", "bytes", "daemon/bus/authority.cpp", "largest_kept"),
        ("calls that wait for the processes that hold the driver", "", "daemon/bus/driver_object.cpp", "most_waiting"),
        ("time of that search", "time", "daemon/host/transaction/runner_check.cpp", "check_deadline"),
        ("changes in `driver history`", "", "daemon/host/transaction/history.hpp", "most"),
        ("one file in the archive of `gpuhostctl report`; a longer one keeps its end", "bytes", "daemon/ctl/report/report.hpp", "report_limit"))),
)


def constant(text, name):
    """Returns (value, the unit that its type or initializer names) of a constexpr in C++."""
    found = re.search(rf"constexpr ([^;=]*?)\b{name}(?: = ([^;]*)|\{{([^;]*)\}});", text)
    if not found:
        return None, ""
    expression = re.sub(r"std::\w+(?:::\w+)?(?=[{(])|(?<=\d)['U]", "", found[2] or found[3]).replace("{", "(").replace("}", ")")
    unit = re.search(r"chrono::(\w+)", found[0])
    return (eval(expression) if re.fullmatch(r"[\d<*() ]+", expression) else None), unit[1] if unit else ""  # digits and operators only


def number(value, unit, of):
    if unit == "bytes":
        for name, size in (("PiB", KIB**5), ("TiB", KIB**4), ("GiB", KIB**3), ("MiB", KIB**2), ("KiB", KIB)):
            if value >= size and value % size == 0:
                return f"{value // size} {name}"
        return f"{value} bytes"
    if value > 1 << 40:
        return f"2^{value.bit_length() - 1}"
    return f"{value:,} {unit if unit != 'time' else of}".rstrip()


def limits(tree):
    parts = []
    for heading, rows in LIMITS:
        shown = []
        for meaning, unit, path, name in rows:
            value, of = constant(tree[path], name)
            if value is None and (alias := re.search(rf"\b{name} = ([\w:]+);", tree[path])):  # another of these constants
                other = alias[1].rpartition("::")[2]
                value, of = next(constant(tree[row[2]], other) for _, rows_there in LIMITS for row in rows_there if row[3] == other)
            if value is None:
                raise ValueError(f"{path}: no constant {name}")
            shown.append([meaning, number(value, unit, of)])
        parts += [f"## {heading}", table(["Limit", "Most"], shown)]
    return page("Limits", [
        "The largest inputs that gpuhostd accepts, and the longest times that it waits. They protect a host from damaged",
        "and hostile inputs; real inputs are far below them. Times that you can set are in [settings](settings.md)."], *parts)


def documents(tree):
    rows = []
    for path in sorted(path for path in tree if path.startswith(SCHEMAS) and path.endswith(".schema.json")):
        schema, name = json.loads(tree[path]), path.removeprefix(SCHEMAS)
        sources = [code(verb) for verb in schema.get("x-verbs", [])] + [code(method) for method in schema.get("x-methods", [])]
        more = f" and {len(sources) - 3} more" if len(sources) > 4 else ""
        rows.append([f"[{name.removesuffix('.schema.json')}](schemas/{name})", schema["title"], ", ".join(sources[:3] if more else sources) + more])
    return page("JSON documents", [
        "Each document that gpuhostctl prints with `--json` and that org.gpuhost1(5) returns has a JSON Schema (draft",
        "2020-12). A host has the schemas in `/usr/share/gpuhost/schemas/`. Documents may gain keys and lose none.",
        "org.gpuhost1(5), JSON DOCUMENTS, explains the keys."], table(["Schema", "Document", "From"], rows))


PAGES = {"settings": settings, "dbus": dbus, "metrics": metrics, "exit-status": exit_status, "limits": limits, "json": documents}


def pages(tree):
    """Returns {path: text} of all generated pages; `tree` is {path: text} of the sources."""
    return {f"docs/reference/{name}.md": make(tree) for name, make in PAGES.items()}


def load(source):
    tree = {}
    for folder in ("daemon", "images", "kmod", "systemd", "man", SCHEMAS):
        for directory, _, names in os.walk(os.path.join(source, folder)):
            for path in (os.path.join(directory, name) for name in names if name.endswith((".cpp", ".hpp", ".conf", ".xml", ".scd", ".json"))):
                with open(path, encoding="utf-8") as file:
                    tree[os.path.relpath(path, source)] = file.read()
    return tree


def main(source):
    for path, text in pages(load(source)).items():
        with open(os.path.join(source, path), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
