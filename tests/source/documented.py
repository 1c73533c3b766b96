# SPDX-License-Identifier: Apache-2.0
"""Checks that manual pages describe all settings, errors, members of the D-Bus interface, checks and
policy fields."""
import re
import xml.etree.ElementTree as ElementTree

from sources import main

SETTINGS_PAGE = "man/gpuhostd.conf.5.scd"
DEFAULTS = "systemd/gpuhostd.conf"
DESCRIBED_DEFAULTS = {"KubeletFiles"}  # long lists, which the page describes
ERRORS_PAGE = "man/gpuhostctl.1.scd"
BUS_PAGE = "man/org.gpuhost1.5.scd"
POLICY_PAGE = "man/gpuhost-policy.5.scd"
POLICY_FIELDS = "daemon/cluster/policy/fields.cpp"
POLICY_IGNORED = "daemon/cluster/policy/ignored.cpp"
SCENARIOS = "tests/unit/cluster/operator_scenarios_test.cpp"
INTERFACE = "systemd/org.gpuhost1.xml"
CHECKS = "daemon/ctl/doctor/doctor.cpp"
ERRORS = "daemon/base/error.cpp"
SETTING = re.compile(r'\{\s*(?:\.section = )?"(\w+)",\s*(?:\.key = )?"(\w+)",\s*(?:\.type = )?(?:core::)?SettingType::')


def settings(tree):
    """Returns (section, key) of every SettingKey in the sources."""
    found = set()
    for path, text in tree.items():
        if path.endswith(".cpp") and not path.startswith("tests/"):
            found.update(SETTING.findall(text))
    return found


def settings_rule(tree):
    page = tree.get(SETTINGS_PAGE, "")
    declared = settings(tree)
    if not declared:
        yield "no SettingKey found in the sources"
    for section, key in sorted(declared):
        if f"*{key}=*" not in page:
            yield f"[{section}] {key}= is not in {SETTINGS_PAGE}"
    for key in sorted(set(re.findall(r"^\*(\w+)=\*", page, re.M)) - {key for _, key in declared}):
        yield f"{key}= is in {SETTINGS_PAGE}, but not declared in the sources"


def sections_of(text, heading):
    parts = re.split(rf"^{heading}$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def defaults_rule(tree):
    """A host test compares the file of defaults with the sources."""
    described = sections_of(tree.get(SETTINGS_PAGE, ""), r"# \[(\w+)\] SECTION")
    for section, text in sections_of(tree.get(DEFAULTS, ""), r"\[(\w+)\]").items():
        for key, value in re.findall(r"^#(\w+)=(.*)$", text, re.M):
            found = re.search(rf"^\*{key}=\*.*\n((?:\t.*\n|\n(?=\t))+)", described.get(section, ""), re.M)
            words = re.sub(r"\s+", " ", found[1]).replace("\\", "") if found else ""
            stated = rf"Default: _{re.escape(value)}_|_{re.escape(value)}_, the default" if value else "Default: (empty|none|all)|Empty, the default"
            if key not in DESCRIBED_DEFAULTS and not re.search(stated, words):
                yield f"[{section}] {key}= in {SETTINGS_PAGE} does not state its default '{value}'"


def errors_rule(tree):
    rows = re.findall(r'Errc::\w+, "([\w-]+)", "([\w.]+)", (\d+)', tree.get(ERRORS, ""))
    if not rows:
        yield f"no error found in {ERRORS}"
    for name, bus_name, exit_code in rows:
        if not re.search(rf"^\|\s*{exit_code}\n:\s*_{name}_", tree.get(ERRORS_PAGE, ""), re.M):
            yield f"exit code {exit_code} ({name}) is not in {ERRORS_PAGE}"
        if bus_name not in tree.get(BUS_PAGE, ""):
            yield f"{bus_name} is not in {BUS_PAGE}"


def bus_rule(tree):
    page = tree.get(BUS_PAGE, "")
    root = ElementTree.fromstring(tree.get(INTERFACE, "<node/>"))
    members = [(i.get("name"), m.get("name")) for i in root.iter("interface") for m in i
               if m.tag in ("method", "property", "signal")]
    if not members:
        yield f"no member found in {INTERFACE}"
    sections = {head: body for head, body in re.findall(r"^# (\S+)[^\n]*\n(.*?)(?=^# |\Z)", page, re.M | re.S)}
    for interface, member in members:
        if not re.search(rf"\*{member}\*", sections.get(interface.upper(), "")):
            yield f"{interface}.{member} is not in {BUS_PAGE}"


def policy_rule(tree):
    """The page has known fields by the last word of their path, and ignored fields by the whole path."""
    page = tree.get(POLICY_PAGE, "")
    known = re.findall(r'PolicyField\{"([\w.]+)"', tree.get(POLICY_FIELDS, ""))
    ignored = re.findall(r'Ignored\{"([\w.]+)"', tree.get(POLICY_IGNORED, ""))
    if not known or not ignored:
        yield f"no fields found in {POLICY_FIELDS} and {POLICY_IGNORED}"
    for path in known:
        if not re.search(rf"[*._]{re.escape(path.rpartition('.')[2])}[*_]", page.replace("\\_", "_")):
            yield f"field {path} is not in {POLICY_PAGE}"
    for path in ignored:
        if f"*{path}*" not in page:
            yield f"ignored field {path} is not in {POLICY_PAGE}"


def differences_rule(tree):
    """The page lists each scenario of the GPU Operator whose result differs here."""
    page = tree.get(POLICY_PAGE, "")
    section = re.search(r"^# DIFFERENCES FROM THE GPU OPERATOR\n(.*?)(?=^# |\Z)", page, re.M | re.S)
    listed = set(re.findall(r"^\*([^*]+)\*$", section[1], re.M)) if section else set()
    tested = set(re.findall(r'\.differs =\s*"([^"]+)"', tree.get(SCENARIOS, "")))
    if not tested:
        yield f"no difference found in {SCENARIOS}"
    for difference in sorted(tested - listed):
        yield f"{SCENARIOS} has '{difference}', {POLICY_PAGE} does not"


def checks_rule(tree):
    checks = re.findall(r'Check\{"([\w-]+)"', tree.get(CHECKS, ""))
    page = re.search(r"^# CHECKS OF DOCTOR\n(.*?)(?=^# |\Z)", tree.get(ERRORS_PAGE, ""), re.M | re.S)
    rows = re.findall(r"^\|.? _([\w-]+)_$", page[1], re.M) if page else []
    if not checks:
        yield f"no check found in {CHECKS}"
    if rows != checks:
        yield f"the table in {ERRORS_PAGE} has unknown checks {sorted(set(rows) - set(checks))}, lacks {sorted(set(checks) - set(rows))}, or has another order"


ROW = 'ErrcInfo{Errc::Busy, "busy", "org.gpuhost1.Error.Busy", 6},'
NODE = '<node><interface name="a.B"><method name="Go"/></interface></node>'
main(
    ("gpuhostd.conf(5) has exactly the settings of the sources", settings_rule, {
        "an undocumented key": {"kmod/a.cpp": '{"Driver", "Key", core::SettingType::Boolean, "yes"},'},
        "a key that was removed": {"kmod/a.cpp": '{"D", "A", SettingType::String},', SETTINGS_PAGE: "*A=*\n*Old=*\n"},
    }),
    ("gpuhostd.conf(5) states the default of every setting", defaults_rule, {
        "another default": {DEFAULTS: "[A]\n#Key=yes\n", SETTINGS_PAGE: "# [A] SECTION\n*Key=*\n\tText. Default: _no_.\n"},
        "an empty default that is not stated": {DEFAULTS: "[A]\n#Key=\n", SETTINGS_PAGE: "# [A] SECTION\n*Key=*\n\tText.\n"},
        "a default in another section": {DEFAULTS: "[A]\n#Key=yes\n", SETTINGS_PAGE: "# [A] SECTION\n# [B] SECTION\n*Key=*\n\tDefault: _yes_.\n"},
    }),
    ("gpuhostctl(1) has every exit code, org.gpuhost1(5) every error", errors_rule, {
        "an undocumented exit code": {ERRORS: ROW, BUS_PAGE: "org.gpuhost1.Error.Busy"},
        "an undocumented bus error": {ERRORS: ROW, ERRORS_PAGE: "|  6\n:  _busy_"},
    }),
    ("org.gpuhost1(5) has every member of the D-Bus interface", bus_rule, {
        "an undocumented method": {INTERFACE: NODE, BUS_PAGE: "# A.B\n*Come*\n"},
        "a method under another interface": {INTERFACE: NODE, BUS_PAGE: "# A.C\n*Go*\n# A.B\n"},
    }),
    ("gpuhostctl(1) has exactly the checks of doctor, in their order", checks_rule, {
        "an undocumented check": {CHECKS: 'Check{"a", "x", y}, Check{"b", "x", y}', ERRORS_PAGE: "# CHECKS OF DOCTOR\n|[ _a_\n"},
        "a check that was removed": {CHECKS: 'Check{"a", "x", y}', ERRORS_PAGE: "# CHECKS OF DOCTOR\n|[ _a_\n|  _b_\n"},
        "a row in another section": {CHECKS: 'Check{"a", "x", y}', ERRORS_PAGE: "# CHECKS OF DOCTOR\n# B\n|[ _a_\n"},
    }),
    ("gpuhost-policy(5) has every field, also the ignored ones", policy_rule, {
        "an undocumented field": {POLICY_FIELDS: 'PolicyField{"a.b", Count}', POLICY_IGNORED: 'Ignored{"c", x}', POLICY_PAGE: "*c*"},
        "an undocumented ignored field": {POLICY_FIELDS: 'PolicyField{"a.b", Count}', POLICY_IGNORED: 'Ignored{"c", x}', POLICY_PAGE: "*a.b*"},
    }),
    ("gpuhost-policy(5) has every tested difference from the GPU Operator", differences_rule, {
        "an undocumented difference": {SCENARIOS: '.differs = "A"', POLICY_PAGE: "# DIFFERENCES FROM THE GPU OPERATOR\n*B*\n"},
        "a difference in another section": {SCENARIOS: '.differs = "A"', POLICY_PAGE: "# DIFFERENCES FROM THE GPU OPERATOR\n# C\n*A*\n"},
    }),
)
