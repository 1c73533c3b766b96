# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the table of HACKING.md, and one room for each C library."""
import os
import re

from sources import TOP_SRCDIR, is_cpp, main

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)
PROGRAMS = re.compile(r"daemon/(\w+_)?main\.cpp$")
BUILT = ("config.h",)
LIBRARIES = {
    r"libkmod\.h": ("kmod",),
    r"archive(_entry)?\.h": ("daemon/content",),
    r"openssl/.*": ("daemon/content",),
    r"curl/.*": ("daemon/http",),
    r"resolv\.h|arpa/nameser\.h": ("images/peers/dns_sd.cpp", "images/peers/discovery.cpp"),
    r"gnutls/.*": ("images/registry/client_certificate.cpp",),
    r"microhttpd\.h": ("images/registry/server.cpp", "daemon/cluster/node/metrics_server.cpp"),
    r"systemd/sd-.*": ("daemon/host", "daemon/bus", "daemon/client/client_bus.hpp"),
    r"yaml-cpp/.*": ("daemon/base/yaml.cpp",),
    r"date/tz\.h": ("daemon/cluster/policy/windows.cpp",),
    r"toml\+\+/.*": ("daemon/runtime/toml/toml.cpp",),
    r"nlohmann/.*": ("daemon/base",),
    r"tl/.*": ("daemon/base",),
}
PRIVATE = {"daemon/client/client_bus.hpp": ("daemon/client/client.cpp", "daemon/client/client_bus.cpp", "daemon/client/async_client.cpp")}


def read_table():
    """{"daemon/bus": {"daemon/base", …}}; rooms are named by the last part of their path."""
    with open(os.path.join(TOP_SRCDIR, "HACKING.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `([\w/]+)/` \|[^|]*\| ([^|]*) \|$", file.read(), re.M)
    rooms = {room.split("/")[-1]: room for room, _ in rows}
    return {room: {rooms[word] for word in re.findall(r"\w+", re.sub(r"\(.*?\)", "", text)) if word in rooms}
            for room, text in rows}


TABLE = read_table()


def room_of(path):
    return max((room for room in TABLE if path.startswith(room + "/")), key=len, default=None)


def includes(tree):
    for path, text in tree.items():
        if is_cpp(path):
            for quoted, angled in INCLUDE.findall(text):
                yield path, quoted, angled


def room_rule(tree):
    for path, quoted, _ in includes(tree):
        here, there = room_of(path), room_of(quoted)
        if here and there and there != here and there not in TABLE[here] and not PROGRAMS.match(path):
            yield f"{path}: '{quoted}': {here} may not include {there}"
        if here and quoted.startswith("tests/"):
            yield f"{path}: '{quoted}': sources may not include tests"


def rooted_rule(tree):
    for path, quoted, _ in includes(tree):
        if quoted and quoted not in BUILT and quoted not in tree:
            yield f"{path}: '{quoted}' is no path from the top of the tree"


def library_rule(tree):
    for path, quoted, angled in includes(tree):
        if quoted in PRIVATE and path not in PRIVATE[quoted]:
            yield f"{path}: '{quoted}' belongs to {' and '.join(PRIVATE[quoted])}"
        for pattern, rooms in LIBRARIES.items():
            if room_of(path) and re.fullmatch(pattern, angled or "") and room_of(path) not in rooms and path not in rooms:
                yield f"{path}: <{angled}> belongs to {' and '.join(rooms) or 'no room'}"


main(
    ("rooms include only what HACKING.md lets them", room_rule, {
        "base including core": {"daemon/base/a.cpp": '#include "daemon/core/plan.hpp"\n'},
        "kmod including host": {"kmod/a.hpp": '  #  include "daemon/host/loop.hpp"\n'},
        "core including bus": {"daemon/core/a.hpp": '#include "daemon/bus/b.hpp"\n'},
        "a source including a test's helper": {"kmod/a.cpp": '#include "tests/support/tmpdir.hpp"\n'},
    }),
    ("quoted includes are paths from the top", rooted_rule, {
        "a neighbour's bare name": {"kmod/a.cpp": '#include "a.hpp"\n', "kmod/a.hpp": ""},
    }),
    ("each C library is included in its room only", library_rule, {
        "libkmod in host": {"daemon/host/a.cpp": "#include <libkmod.h>\n"},
        "OpenSSL in kmod": {"kmod/a.cpp": "#include <openssl/evp.h>\n"},
        "sd-bus in core": {"daemon/core/a.cpp": "#include <systemd/sd-bus.h>\n"},
        "sd-bus in a verb": {"daemon/ctl/cmd_a.cpp": "#include <systemd/sd-bus.h>\n"},
        "a verb with the client's bus": {"daemon/ctl/cmd_a.cpp": '#include "daemon/client/client_bus.hpp"\n'},
        "an HTTP server in what parses for it": {"images/registry/registry.cpp": "#include <microhttpd.h>\n"},
        "an HTTP server in what counts for it": {"daemon/cluster/node/metrics.cpp": "#include <microhttpd.h>\n"},
        "an HTTP client in what plans for it": {"images/peers/blob_fetch.cpp": "#include <curl/curl.h>\n"},
        "a resolver in what parses settings": {"images/peers_settings.cpp": "#include <resolv.h>\n"},
        "YAML in what checks a specification": {"daemon/runtime/cdi/check.cpp": "#include <yaml-cpp/yaml.h>\n"},
        "TOML in what merges it": {"daemon/runtime/inspect/containerd_merge.cpp": "#include <toml++/toml.h>\n"},
        "libarchive in kmod": {"kmod/a.cpp": "#include <archive_entry.h>\n"},
    }),
)
