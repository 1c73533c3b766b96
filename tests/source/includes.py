# SPDX-License-Identifier: Apache-2.0
"""Checks the includes of each folder by the line "# may include:" of its local.mk, and that each C library
has one place."""
import os
import re

from sources import is_cpp, main

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)
MAY_INCLUDE = re.compile(r"^# may include: (.*(?:\n#   .*)*)", re.M)
TOP = re.compile(r"(daemon|images|kmod)/")
# Includes that no local.mk may permit: subsystems meet in values of daemon/core and in daemon/programs.
FORBIDDEN = {
    "kmod": ("images", "daemon/runtime", "daemon/cluster", "daemon/host", "daemon/bus", "daemon/ctl", "daemon/client", "daemon/programs"),
    "images": ("kmod", "daemon/runtime", "daemon/cluster", "daemon/host", "daemon/bus", "daemon/ctl", "daemon/client", "daemon/programs"),
    "daemon/runtime": ("kmod", "images", "daemon/cluster", "daemon/host", "daemon/bus", "daemon/ctl", "daemon/client", "daemon/programs"),
    "daemon/cluster": ("kmod", "images", "daemon/runtime", "daemon/host", "daemon/bus", "daemon/ctl", "daemon/client", "daemon/programs"),
    "daemon/host": ("kmod", "images", "daemon/runtime", "daemon/cluster", "daemon/bus", "daemon/ctl", "daemon/client", "daemon/programs"),
    "daemon/ctl": ("daemon/host", "daemon/bus", "daemon/programs"),
}
BUILT = ("config.h",)
LIBRARIES = {
    r"libkmod\.h": ("kmod",),
    r"archive(_entry)?\.h": ("daemon/content",),
    r"openssl/.*": ("daemon/content",),
    r"curl/.*": ("daemon/http",),
    r"resolv\.h|arpa/nameser\.h": ("images/peers/dns_sd.cpp", "images/peers/discovery.cpp"),
    r"gnutls/.*": ("images/registry/client_certificate.cpp",),
    r"microhttpd\.h": ("images/registry/server.cpp", "daemon/metrics/server.cpp"),
    r"systemd/sd-daemon\.h": ("daemon/host", "daemon/programs"),
    r"systemd/sd-(?!daemon).*": ("daemon/host", "daemon/bus", "daemon/client/client_bus.hpp"),
    r"yaml-cpp/.*": ("daemon/base/yaml.cpp",),
    r"nghttp2/.*": ("daemon/rpc/http2.hpp",),
    r"google/protobuf/.*": ("daemon/rpc/kubelet",),
    r"ncurses\.h": ("daemon/ctl/dashboard/screen.cpp",),
    r"date/tz\.h": ("daemon/cluster/policy/windows.cpp",),
    r"toml\+\+/.*": ("daemon/runtime/toml/toml.cpp",),
    r"nlohmann/.*": ("daemon/base",),
    r"tl/.*": ("daemon/base",),
}
PRIVATE = {"daemon/client/client_bus.hpp": ("daemon/client/client.cpp", "daemon/client/client_bus.cpp", "daemon/client/async_client.cpp")}


def allowed(tree):
    """Returns {"kmod/load": {"kmod/module", …}}; None for a folder that may include all."""
    table = {}
    for path, text in tree.items():
        folder, _, name = path.rpartition("/")
        found = MAY_INCLUDE.search(text) if name == "local.mk" else None
        if found:
            words = found[1].replace("\n#", " ").split()
            table[folder] = None if words == ["all"] else set(words) - {"nothing"}
    return table


def folder_of(path):
    """Returns the folder of a source; daemon/programs for every source of a program."""
    return "daemon/programs" if path.startswith("daemon/programs/") else os.path.dirname(path)


def includes(tree):
    for path, text in tree.items():
        if is_cpp(path):
            for quoted, angled in INCLUDE.findall(text):
                yield path, quoted, angled


def folder_rule(tree):
    table = allowed(tree)
    for folder in sorted({folder_of(path) for path in tree if is_cpp(path) and TOP.match(path)} - table.keys()):
        yield f"{folder}: '# may include:' is missing in its local.mk"
    used = {folder: set() for folder in table}
    for path, quoted, _ in includes(tree):
        here, there = folder_of(path), folder_of(quoted)
        if not TOP.match(path):
            continue
        if quoted.startswith("tests/"):
            yield f"{path}: '{quoted}': sources may not include tests"
        elif TOP.match(quoted) and there != here and table.get(here) is not None:
            used[here].add(there)
            if there not in table[here]:
                yield f"{path}: '{quoted}': {here} may not include {there}"
    for folder, named in table.items():
        for other in sorted((named or set()) - used[folder]):
            yield f"{folder}/local.mk: names {other}, which {folder} does not include"


def is_below(folder, place):
    return folder == place or folder.startswith(place + "/")


def layer_rule(tree):
    for folder, named in allowed(tree).items():
        for place, others in FORBIDDEN.items():
            for other in sorted(named or ()) if is_below(folder, place) else ():
                if any(is_below(other, forbidden) for forbidden in others):
                    yield f"{folder}/local.mk: {place} may not include {other}"


def cycle_rule(tree):
    """Removes folders that include none of the remaining ones. The rest is in a circle or includes one."""
    left = {folder: set(named) for folder, named in allowed(tree).items() if named is not None}
    while free := [folder for folder, named in left.items() if not named & left.keys()]:
        for folder in free:
            del left[folder]
    for folder, named in sorted(left.items()):
        yield f"{folder}: in a circle with {', '.join(sorted(named & left.keys()))}"


def rooted_rule(tree):
    for path, quoted, _ in includes(tree):
        if quoted and quoted not in BUILT and quoted not in tree:
            yield f"{path}: '{quoted}' is not a path from the top of the tree"


def library_rule(tree):
    for path, quoted, angled in includes(tree):
        if quoted in PRIVATE and path not in PRIVATE[quoted]:
            yield f"{path}: '{quoted}' belongs to {' and '.join(PRIVATE[quoted])}"
        for pattern, places in LIBRARIES.items():
            if TOP.match(path) and re.fullmatch(pattern, angled or "") and not any(path == place or path.startswith(place + "/") for place in places):
                yield f"{path}: <{angled}> belongs to {' and '.join(places)}"


def tree_of(table, sources):
    return {f"{folder}/local.mk": f"# may include: {words}\n" for folder, words in table.items()} | sources


main(
    ("folders include only folders that their local.mk names", folder_rule, {
        "base including core": tree_of({"daemon/base": "nothing", "daemon/core": "daemon/base"}, {"daemon/base/a.cpp": '#include "daemon/core/plan.hpp"\n'}),
        "a folder below including its neighbour": tree_of({"kmod/store": "kmod", "kmod/load": "kmod"}, {"kmod/store/a.hpp": '  #  include "kmod/load/loader.hpp"\n'}),
        "a folder without the line": {"kmod/a.cpp": ""},
        "a word too many": tree_of({"kmod": "nothing", "kmod/store": "kmod"}, {"kmod/store/a.cpp": ""}),
        "a source including a test's helper": tree_of({"kmod": "nothing"}, {"kmod/a.cpp": '#include "tests/support/tmpdir.hpp"\n'}),
    }),
    ("no local.mk permits subsystems to include each other", layer_rule, {
        "kmod with host": tree_of({"kmod/load": "daemon/base daemon/host/worker"}, {}),
        "images with kmod": tree_of({"images": "kmod"}, {}),
    }),
    ("no folders include each other in a circle", cycle_rule, {
        "two": tree_of({"kmod/a": "kmod/b", "kmod/b": "kmod/a"}, {}),
        "three, by a longer line": {"a/local.mk": "# may include: d e\n#   b\n", "b/local.mk": "# may include: c\n", "c/local.mk": "# may include: a\n"},
    }),
    ("quoted includes are paths from the top", rooted_rule, {
        "a neighbour's bare name": {"kmod/a.cpp": '#include "a.hpp"\n', "kmod/a.hpp": ""},
    }),
    ("each C library is included in one place", library_rule, {
        "libkmod in host": {"daemon/host/a.cpp": "#include <libkmod.h>\n"},
        "OpenSSL in kmod": {"kmod/a.cpp": "#include <openssl/evp.h>\n"},
        "sd-bus in core": {"daemon/core/a.cpp": "#include <systemd/sd-bus.h>\n"},
        "sd-bus in a verb": {"daemon/ctl/driver/a.cpp": "#include <systemd/sd-bus.h>\n"},
        "a verb with the client's bus": {"daemon/ctl/driver/a.cpp": '#include "daemon/client/client_bus.hpp"\n'},
        "an HTTP server in the parser of requests": {"images/registry/registry.cpp": "#include <microhttpd.h>\n"},
        "an HTTP server in the metrics": {"daemon/cluster/node/metrics.cpp": "#include <microhttpd.h>\n"},
        "an HTTP client in the plan of a fetch": {"images/peers/blob_fetch.cpp": "#include <curl/curl.h>\n"},
        "a resolver in the settings": {"images/peers_settings.cpp": "#include <resolv.h>\n"},
        "YAML in the check of a specification": {"daemon/runtime/cdi/check.cpp": "#include <yaml-cpp/yaml.h>\n"},
        "TOML in the merge of files": {"daemon/runtime/inspect/containerd_merge.cpp": "#include <toml++/toml.h>\n"},
        "ncurses in a model": {"daemon/ctl/dashboard/model.cpp": "#include <ncurses.h>\n"},
        "HTTP/2 in a public header": {"daemon/rpc/server.hpp": "#include <nghttp2/nghttp2.h>\n"},
        "protobuf in the server": {"daemon/rpc/server.cpp": "#include <google/protobuf/message_lite.h>\n"},
        "libarchive in kmod": {"kmod/a.cpp": "#include <archive_entry.h>\n"},
    }),
)
