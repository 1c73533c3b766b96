# SPDX-License-Identifier: Apache-2.0
"""The page for Cockpit, in a real cockpit-ws and Chromium, with the real daemon: what it shows, and what its
dialogs do. GPUHOST_SCREENSHOTS=1 writes the pictures of docs/how-to/cockpit.md."""
import itertools
import json
import os
import pwd
import shutil
import subprocess
import threading

import tap
from cockpit_page import Browser, Cockpit, Keys, missing, wait_for
from driver_files import KERNEL
from fake_host import GPUS, NEW, OLD, FakeHost, prepare, write
from gates import Gates
from programs import PATIENCE, end, start

SERVICE = os.path.join(tap.TOP_BUILDDIR, "tests/host/fake-service")
PICTURES = os.path.join(tap.TOP_SRCDIR, "docs/how-to/pictures") if os.environ.get("GPUHOST_SCREENSHOTS") == "1" else None
CONF = "/etc/gpuhost/gpuhostd.conf"
HOLDER = "<img src=x o=1>"  # a process name has at most 15 bytes
UNIT = "<script>hacked=1;.service"
SWAP, ROLLBACK = f"[id='swap-{NEW}']", "#rollback"


def picture(browser, name, height=720):
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
        browser.resize(1024, height)
        browser.save(os.path.join(PICTURES, name + ".png"))
        browser.resize(1280)


def preflight_picture(host, browser):
    if not PICTURES:
        return
    host.add_process(4242, "python3", "training.service")
    browser.click(SWAP)
    browser.shows("dialog", "training.service")
    picture(browser, "cockpit-preflight", 800)
    browser.press(Keys.ESCAPE)
    shutil.rmtree(host.path("/proc/4242"))


def check_overview(t, host, browser):
    t.ok(browser.shows("#verdict", f"OK: driver {OLD} serves {len(GPUS)} GPUs"), "the page begins with the verdict", browser.text())
    t.ok(browser.shows("#driver-card", f"{OLD} (nvidia", "Selected", "Wanted\nnot set", "2, all bound to nvidia"), "the driver is shown", browser.text("#driver-card"))
    t.ok(browser.shows("#host-card", "idle", KERNEL, "Pending\nnothing"), "the host is shown", browser.text("#host-card"))
    t.ok(browser.shows("#gpus-card", *GPUS, "0x2330"), "the GPUs are shown", browser.text("#gpus-card"))
    t.ok(browser.shows(f"#versions-card tr[data-row='{NEW}']", "open", "available") and browser.shows(f"#versions-card tr[data-row='{OLD}']", "loaded, selected"),
         "the store is shown with modules for this kernel", browser.text("#versions-card"))
    listed = [str(one["id"]) for one in host.json("operation", "list")]
    shown = browser.run("return [...document.querySelectorAll('#operations-card tr[data-row]')].map((row) => row.dataset.row)")
    t.equal(shown, listed, "operations are listed newest first")
    t.ok(browser.shows("#history-card", "none", OLD, "committed", "root"), "the history is shown", browser.text("#history-card"))


def check_refusal(t, host, browser):
    host.add_process(4242, HOLDER, UNIT)
    host_before = host.loaded()
    browser.click(SWAP)
    refused = browser.shows("dialog", f"Swap to driver {NEW}", "1 problem blocks this. Nothing was changed.", HOLDER, UNIT, "holds the driver", "Hint:", "4242")
    t.ok(refused, "a refused preflight names the holder and the hint", browser.text("dialog"))
    t.ok(browser.shows("dialog .steps", f"load nvidia {NEW} in place of {OLD}"), "a preflight lists the steps", browser.text("dialog"))
    t.ok(browser.run("return document.querySelector('#dialog-start').disabled"), "a refused swap can't be started")
    t.equal(browser.run("return [window.hacked ?? null, document.querySelectorAll('img, dialog script, main script').length]"), [None, 0],
            "names from outside are shown as text")
    browser.choose("#holder-policy", "terminate")
    allowed = browser.shows("#preflight", "Checked on this host: no problems found.", HOLDER, UNIT)
    t.ok(allowed and browser.run("return !document.querySelector('#dialog-start').disabled"), "another policy is checked again", browser.text("dialog"))
    inside = "return document.querySelector('dialog').contains(document.activeElement) || document.activeElement === document.body"
    tabs = []
    for _ in range(6):
        browser.press(Keys.TAB)
        tabs.append(browser.run(inside))
    t.ok(all(tabs), "the focus stays in the dialog", tabs)
    check_layout(t, browser, "a dialog")
    browser.press(Keys.ESCAPE)
    t.ok(wait_for(lambda: not browser.run("return document.querySelector('dialog')")), "Escape closes the dialog")
    t.equal((browser.run("return document.activeElement.id"), host.loaded()), (f"swap-{NEW}", host_before),
            "the focus returns to the button, nothing was changed")
    shutil.rmtree(host.path("/proc/4242"))


def check_layout(t, browser, what):
    for width in (400, 1280):
        browser.resize(width)
        wide = browser.run("return [document.documentElement, ...document.querySelectorAll('dialog, .dialog-body, .rows')]"
                           ".filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 200))")
        t.equal(wide, [], f"{what} fits {width} pixels")


def gated(host, browser, where, answer, act, css=SWAP):
    """Starts a swap in the page, calls act() while its worker is at the gate `where`, and lets it go on with `answer`."""
    reached, go = threading.Event(), threading.Event()

    def decide(place, _count):
        if place != where:
            return "go"
        reached.set()
        go.wait(PATIENCE)
        return answer

    gates = Gates(host, decide)
    browser.click(css)
    browser.click("#dialog-start")
    arrived = reached.wait(PATIENCE)
    act(arrived)
    go.set()
    return gates


def check_swap(t, host, browser):
    def at_gate(arrived):
        shown = browser.shows("#operation-card", f"swap driver {OLD} → {NEW}", "running", "%", "load nvidia")
        t.ok(arrived and shown, "a running swap shows title, percent and steps", browser.text("#operation-card"))
        moves = wait_for(lambda: 0 < browser.run("return document.querySelector('#operation-card progress').value") < 100)
        t.ok(moves, "a running swap has a progress bar", browser.text("#operation-card"))
        t.ok(browser.shows("#verdict", "NOT OK: operation", "changes this host"), "the verdict names the running operation", browser.text("#verdict"))
        picture(browser, "cockpit-progress", 860)

    gates = gated(host, browser, "apply modules.converge before", "go", at_gate)
    t.ok(browser.shows("#operation-card", "done", "Took") and browser.shows("#verdict", f"OK: driver {NEW} serves"), "the end of a swap is shown",
         browser.text())
    t.ok(browser.shows(f"#versions-card tr[data-row='{NEW}']", "loaded, selected") and browser.shows(f"#versions-card tr[data-row='{OLD}']", "previous"),
         "the list of versions is updated", browser.text("#versions-card"))
    gates.close()
    t.equal(host.read("/sys/module/nvidia/version"), NEW, "the swap has changed the driver")


def check_cancel(t, host, browser):
    def at_gate(_arrived):
        browser.click("#cancel")
        t.ok(browser.shows("dialog", "Cancel operation", "are undone", "running"), "cancelling shows first what is undone", browser.text("dialog"))
        browser.click("#dialog-start")
        t.ok(wait_for(lambda: not browser.run("return document.querySelector('dialog')")), "a cancelled operation closes the dialog", browser.text("dialog"))

    gates = gated(host, browser, "apply modules.converge before", "go", at_gate, ROLLBACK)
    t.ok(browser.shows("#operation-card", "cancelled, the host is as it was before"), "a cancelled operation is shown", browser.text("#operation-card"))
    gates.close()
    t.equal(host.read("/sys/module/nvidia/version"), NEW, "a cancelled operation leaves the driver")


def check_failure(t, host, browser):
    gates = gated(host, browser, "apply modules.converge before", "error failed", lambda _arrived: None, ROLLBACK)
    t.ok(browser.shows("#operation-card", "failed and was rolled back, the host is as it was before", "Failed", "in step", "Cause", "Runs now", f"driver {NEW}", "Hint"),
         "a failed swap shows step, cause and hint", browser.text("#operation-card"))
    gates.close()


def check_rollback(t, host, browser):
    browser.click(ROLLBACK)
    t.ok(browser.shows("dialog", f"Roll back to driver {OLD}", "Checked on this host: no problems found."), "a rollback shows its preflight", browser.text("dialog"))
    browser.click("#dialog-start")
    t.ok(browser.shows("#verdict", f"OK: driver {OLD} serves") and host.read("/sys/module/nvidia/version") == OLD, "a rollback loads the previous driver",
         browser.text())


def check_apply(t, host, browser):
    write(host.path(CONF), f"[Driver]\nVersion={NEW}\n")
    host.ctl("reload", check=0)
    t.ok(browser.shows("#verdict", "NOT OK: pending") and browser.shows("#host-card", "Pending", NEW), "a pending change is shown", browser.text())
    browser.click("#apply")
    t.ok(browser.shows("dialog", "Apply the configuration", "Checked on this host: no problems found.", f"load nvidia {NEW}"), "apply shows its preflight",
         browser.text("dialog"))
    browser.click("#dialog-start")
    t.ok(browser.shows("#verdict", f"OK: driver {NEW} serves"), "apply changes the host", browser.text())
    os.unlink(host.path(CONF))
    host.ctl("reload", check=0)


def check_operation(t, browser):
    browser.click("#operations-card button.link")
    t.ok(browser.shows("dialog", "Operation", "done", "Asked by", "root with", "Began"), "an operation opens its details", browser.text("dialog"))
    browser.press(Keys.ESCAPE)


def check_restart(t, host, browser):
    host.kill_daemon()
    t.ok(browser.shows("#verdict", "NOT OK: gpuhostd is not running", "Start it: systemctl start gpuhostd.") and browser.run("return document.querySelector('#cards').hidden"),
         "a stopped daemon is the verdict", browser.text())
    host.start_daemon()
    t.ok(browser.shows("#verdict", f"OK: driver {NEW} serves") and browser.shows("#host-card", "idle"), "a started daemon is shown again", browser.text())


def check_reconnect(t, host, browser):
    """Closes the page's channels as Cockpit does when their bridge has ended."""
    browser.run("window.seen = new Set(); cockpit.transport.filter((_message, channel) => { if (channel) window.seen.add(channel); return true; })")
    host.ctl("reload", check=0)
    wait_for(lambda: browser.run("return window.seen.size"))
    browser.run("for (const channel of window.seen) cockpit.transport.inject('\\n' + JSON.stringify({command: 'close', channel, problem: 'terminated'}), false)")
    t.ok(browser.shows("#verdict", "NOT OK: the connection to this host is lost"), "a lost connection is the verdict", browser.text("#verdict"))
    t.ok(browser.shows("#verdict", f"OK: driver {NEW} serves"), "the page connects again by itself", browser.text("#verdict"))


# Returns each text whose contrast with its background is below that of WCAG 2's level AA.
CONTRAST = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const surface = (one) => { const colour = getComputedStyle(one).backgroundColor; return (parts(colour)[3] ?? 1) > 0 || !one.parentElement ? colour : surface(one.parentElement); };
const bad = [];
for (const one of document.querySelectorAll('body *')) {
    if (one.disabled || one.offsetParent === null || ![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '')) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(surface(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${one.outerHTML.slice(0, 120)}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
}
return bad;
"""
NAMELESS = """
return [...document.querySelectorAll('button, select, progress, dialog, table, section')].filter((one) => {
    const label = document.getElementById(one.getAttribute('aria-labelledby') ?? '')?.innerText ?? one.getAttribute('aria-label');
    return !(label || one.caption?.textContent || one.labels?.[0]?.innerText || one.innerText && one.matches('button'));
}).map((one) => one.outerHTML.slice(0, 200));
"""


def check_access(t, browser):
    for style in ("dark", "light"):
        browser.run("localStorage.setItem('shell:style', arguments[0]); window.dispatchEvent(new CustomEvent('cockpit-style', {detail: {style: arguments[0]}}))", style)
        t.equal((browser.run("return document.documentElement.classList.contains('pf-theme-dark')"), browser.run(CONTRAST)), (style == "dark", []),
                f"the {style} style has enough contrast")
    t.equal((browser.run(NAMELESS), browser.run("return [document.documentElement.lang, document.querySelectorAll('h1').length]")), ([], ["en", 1]),
            "every control and region has a name")


def check_access_change(t, browser, method, *arguments):
    browser.run("window.isOld = true")
    browser.run("cockpit.dbus(null, {bus: 'internal'}).call('/superuser', 'cockpit.Superuser', arguments[0], arguments[1])", method, arguments)
    t.ok(wait_for(lambda: browser.run("return !window.isOld && document.readyState === 'complete'")) and browser.shows("#verdict", f"OK: driver {NEW} serves"),
         f"{method} of administrative access reloads the page", browser.text("#verdict"))


def check_rights(t, host, browser):
    """A person without rights sees everything and what is missing for a change."""
    if os.geteuid() != 0:
        t.skip("a person without rights", "needs root to run Cockpit as another user")
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    cockpit = Cockpit(host, user=nobody, group=nobody, extra_groups=[])
    try:
        browser.open(cockpit.page)
        t.ok(browser.shows("#verdict", f"OK: driver {NEW} serves"), "a person without rights sees the verdict", browser.text())
        browser.click(ROLLBACK)
        t.ok(browser.shows("dialog", "Nothing was checked on this host: ", "root", f"load nvidia {OLD}") and
             browser.run("return document.querySelector('#dialog-start').disabled"), "without rights a dialog shows why nothing starts", browser.text("dialog"))
        check_access_change(t, browser, "Start", "cockpit-bridge")
        check_access_change(t, browser, "Stop")
    finally:
        cockpit.close()


class Service:
    """A service that sends any documents as org.gpuhost1."""

    def __init__(self, host):
        self.output = os.path.join(host.scratch, "service.output")
        with open(self.output, "w") as output:
            self.process = start([SERVICE], stdin=subprocess.PIPE, stdout=output, env=host.environment)

    def say(self, *lines):
        self.process.stdin.write("".join("\t".join(words) + "\n" for words in lines))
        self.process.stdin.flush()

    def calls(self, method):
        """Returns how often a method was called."""
        with open(self.output) as output:
            return sum(line.split()[0] == method for line in output)

    def close(self):
        end(self.process)
        self.process.stdin.close()


STEP = {"kind": "x", "summary": "a step", "args": {}}


def hosts(host):
    """Yields host documents that differ in one thing each."""
    good = {key: value for key, value in host.items() if key != "verdict"}
    driver = good["components"]["driver"]
    plan, problem = driver["plan"], {"code": "refused", "text": "a problem", "hint": "Do it."}

    def with_driver(**more):
        return good | {"components": good["components"] | {"driver": driver | more}}

    yield good
    yield good | {"state": "reboot-required"}
    yield good | {"ready": False}
    yield good | {"config_problems": ["/etc/gpuhost/gpuhostd.conf:1: a mistake"]}
    yield with_driver(plan=plan | {"problems": [problem, problem]})
    yield with_driver(plan=plan | {"undecided": problem})
    yield with_driver(plan=plan | {"steps": [STEP]})
    yield good | {"components": good["components"] | {"driver": {"error": {"code": "failed", "message": "not \u202e known", "hint": ""}}}}
    gpus = [{"address": f"0000:0{i}:00.0", "device": "0x2330", "driver": by} for i, by in enumerate(("nvidia", "vfio-pci", "nouveau", ""))]
    for one in ({"configured": "off"}, {"gpus": []}, {"gpus": gpus}, {"gpus": gpus[1:2]}, {"loaded_version": "", "gpus": gpus[3:]}):
        yield with_driver(observed=driver["observed"] | one)
    others = {name: one | {"plan": one["plan"] | {"title": f"change {name}", "steps": [STEP]}}
              for name, one in good["components"].items() if name != "driver"}
    yield good | {"components": {"driver": driver} | others}
    yield good | {"components": {"driver": driver} | others | {"cdi": others["cdi"] | {"plan": plan | {"problems": [problem]}}}}


def check_verdicts(t, host, browser, service, good):
    differences = []
    for document in hosts(good):
        service.say(("answer", "Manager.Describe", json.dumps(document)))
        wanted = json.loads(host.ctl("status", "--json").stdout)["verdict"]
        got = browser.call("verdict.js", "verdictOf", document, None)
        if got != wanted:
            differences.append(f"{got}\n{wanted}")
    t.equal(differences, [], "the page has the verdicts of gpuhostctl status")


def check_serving(t, host, browser, service, good):
    """What the kubelet gets, in the words of gpuhostctl status."""
    name, differences = "nvidia.com/gpu", []
    served = {"serve": True, "running": True, "offer": {"id": "1"},
              "answer": {"id": "1", "resources": [{"name": name, "devices": 2, "connected": True}]}}
    for more in ({}, {"offer": None}, {"offer": {"id": "1", "withdrawn": "a swap runs"}}, {"running": False}, {"offer": {"id": "2"}},
                 {"answer": {"id": "1", "resources": [{"name": name, "error": "no"}]}}, {"answer": {"id": "1", "resources": [{"name": name}]}}):
        document = good | {"components": good["components"] | {"devices": {"observed": served | more}}}
        service.say(("answer", "Manager.Describe", json.dumps(document)))
        shown = host.ctl("status").stdout
        found = [fact["text"] for fact in browser.call("view_runtime.js", "containerFacts", document) if fact["label"] == "Kubelet"]
        if len(found) != 1 or f"Kubelet: {found[0]}\n" not in shown:
            differences.append(f"{more}: {found}\n{shown}")
    t.equal(differences, [], "the page says what the kubelet gets, as gpuhostctl status")
    lost = {"uuid": "GPU-1", "state": "unhealthy", "recovery": "reboot", "reason": "Xid 79: lost"}
    for health in [lost], [lost | {"state": "noted"}, lost, lost | {"uuid": "GPU-2"}]:
        document = good | {"components": good["components"] | {"devices": {"observed": served | {"answer": served["answer"] | {"health": health}}}}}
        service.say(("answer", "Manager.Describe", json.dumps(document)))
        shown = host.ctl("status").stdout
        found = [fact["text"] for fact in browser.call("view_runtime.js", "containerFacts", document) if fact["label"] == "GPUs"]
        t.ok(len(found) == 1 and f"GPUs: {found[0]}\n" in shown, f"the page names an unhealthy GPU of {len(health)}, as gpuhostctl status", found, shown)
    document = good | {"components": good["components"] | {"devices": {"observed": served | {"answer": served["answer"] | {"blind": "the messages have ended"}}}}}
    service.say(("answer", "Manager.Describe", json.dumps(document)))
    shown = host.ctl("status").stdout
    found = [fact["text"] for fact in browser.call("view_runtime.js", "containerFacts", document) if fact["label"] == "GPUs"]
    t.ok(len(found) == 1 and f"GPUs: {found[0]}\n" in shown, "the page says that health is unknown, as gpuhostctl status", found, shown)


def check_ended_verdicts(t, host, browser, service, good):
    """The hint of a pending change names the operation that failed, and the way back if the driver is not loaded."""
    driver = good["components"]["driver"]
    pending = driver["plan"] | {"title": "load the driver", "steps": [STEP]}
    sets = {"userland": "", "modules": "0" * 64}
    selected = sets | {"version": NEW, "previous": sets | {"version": OLD}}
    differences, hints = [], set()
    for kind, state, observed in itertools.product(("apply", "driver.swap"), ("refused", "failed", "rolled-back", "incomplete", "committed"),
                                                   ({}, {"selected": selected, "loaded_version": ""}, {"selected": selected, "loaded_version": NEW})):
        operation = {"id": 1, "kind": kind, "title": "a change", "state": state, "ended_us": 5, "steps": [STEP]}
        document = good | {"components": good["components"] | {"driver": driver | {"plan": pending, "observed": driver["observed"] | observed}}}
        service.say(("operation", json.dumps(operation)), ("answer", "Manager.Describe", json.dumps(document)))
        wanted = json.loads(host.ctl("status", "--json").stdout)["verdict"]
        hints.add(wanted["hint"])
        got = browser.call("verdict.js", "verdictOf", document, operation)
        if got != wanted:
            differences.append(f"{operation}: {got}\n{wanted}")
    t.equal((differences, len(hints)), ([], 3), "the page has the hints of gpuhostctl status after an operation")


def check_operation_verdicts(t, host, browser, service, good):
    """What the page chooses as the running operation is what gpuhostctl status chooses."""
    running = {"id": 1, "title": "a change", "state": "running", "steps": [STEP]}
    differences = []
    for more in ({}, {"changes_host": False}, {"dry_run": True, "changes_host": False}):
        service.say(("operation", json.dumps(running | more)), ("answer", "Manager.Describe", json.dumps(good | {"operation": 1})), ("ready", "1"))
        wanted = json.loads(host.ctl("status", "--json").stdout)["verdict"]
        if not browser.shows("#verdict", f"{'OK' if wanted['ok'] else 'NOT OK'}: {wanted['text']}"):
            differences.append(f"{more}: {browser.text('#verdict')}\n{wanted}")
    t.equal(differences, [], "the page has the verdicts of gpuhostctl status for a running operation")


HOSTILE = "<script>hacked=1</script><img src=x onerror=hacked=1>\u202e"


def check_list(t, browser, service):
    """Ended dry runs, which are most of the list, are described once; removed operations never."""
    checked = [{"id": 10 + i, "title": f"check {i}", "state": "checked", "dry_run": True} for i in range(5)]
    service.say(*(("operation", json.dumps(one)) for one in checked))
    browser.shows("#operations-card", "check 4")
    described, refreshed = service.calls("Operation.Describe"), service.calls("Driver.History")
    service.say(("ready", "1"))
    wait_for(lambda: service.calls("Driver.History") > refreshed)
    more = (service.calls("Operation.Describe") - described, service.calls("Driver.History") - refreshed)
    t.ok(more[0] <= more[1], "a refresh skips ended dry runs", more)
    service.say(("fail", "Operation.Describe", "org.freedesktop.DBus.Error.UnknownObject", "Unknown object"), ("ready", "1"))
    t.ok(browser.shows("#operation-card", "No operation yet.") and browser.shows("#verdict", "OK: driver"), "removed operations are skipped", browser.text("#verdict"))
    browser.click("#operations-card button.link")
    t.ok(browser.shows("dialog", "operation 14 not found", "gpuhostctl operation list"), "a removed operation is explained", browser.text("dialog"))
    browser.press(Keys.ESCAPE)
    service.say(("fail", "Operation.Describe"))


PLAN = {"title": "a swap", "steps": [STEP], "problems": [], "reasons": [], "warnings": []}
FAILURE = "org.gpuhost1.Error.Failed", "a failure\\nDo it."


def check_dialogs(t, browser, service, good):
    """Dialogs that are closed early, whose calls fail, and that have nothing to do."""
    swap = f"[id='swap-{OLD}']"
    running = {"id": 20, "title": "a change", "state": "running", "steps": [STEP], "progress": 0.5}
    service.say(("answer", "Driver.Plan", json.dumps(PLAN)), ("start", "20"), ("operation", json.dumps(running)))
    browser.shows("#operation-card", "a change", "running")
    browser.run("document.querySelector(arguments[0]).click(); document.querySelector('dialog').close()", swap)
    t.ok(wait_for(lambda: service.calls("Operation.Cancel") == 1), "closing a dialog early cancels its dry run")
    service.say(("fail", "Operation.Cancel", *FAILURE))
    browser.click("#cancel")
    browser.click("#dialog-start")
    t.ok(browser.shows("dialog", "a failure", "Do it.") and not browser.run("return document.querySelector('#dialog-start').disabled"),
         "a cancel that failed can be repeated", browser.text("dialog"))
    browser.press(Keys.ESCAPE)
    service.say(("operation", json.dumps(running | {"state": "checked"})))
    browser.click(swap)
    browser.shows("dialog", "no problems found")
    service.say(("start", "0"))
    browser.click("#dialog-start")
    t.ok(browser.shows("dialog", "Nothing to do"), "a change without steps is explained", browser.text("dialog"))
    browser.press(Keys.ESCAPE)
    driver = good["components"]["driver"]
    pending = good | {"components": good["components"] | {"driver": driver | {"plan": driver["plan"] | {"steps": [STEP]}}}}
    service.say(("answer", "Manager.Describe", json.dumps(pending)), ("ready", "1"))
    browser.shows("#verdict", "NOT OK: pending")
    service.say(("fail", "Manager.Describe", *FAILURE))
    planned = service.calls("Manager.Plan")
    browser.run("const apply = document.querySelector('#apply'); apply.click(); apply.click()")
    t.ok(browser.shows("dialog", "a failure", "Do it.") and browser.run("return document.querySelector('#dialog-start').disabled")
         and service.calls("Manager.Plan") == planned, "without the host's description nothing is applied", browser.text("dialog"))
    browser.press(Keys.ESCAPE)


def check_documents(t, host, browser, good):
    """Documents of other shapes, errors of an older daemon, and names that are HTML."""
    host.kill_daemon()
    service = Service(host)
    try:
        service.say(("answer", "Manager.Describe", json.dumps(good)), ("answer", "Driver.History", '{"changes": [1]}'), ("own",))
        wait_for(lambda: host.ctl("status", "--json").stdout)  # the service owns the name
        check_verdicts(t, host, browser, service, good)
        check_serving(t, host, browser, service, good)
        check_ended_verdicts(t, host, browser, service, good)
        check_operation_verdicts(t, host, browser, service, good)
        bundle = {"name": HOSTILE, "generation": 1, "images": 2, "bytes": 5e9, "signer": {"subject": HOSTILE}, "packages": [{"distribution": HOSTILE}]}
        runtime = {"name": HOSTILE, "state": "problem", "text": HOSTILE}
        hostile = good | {"state": HOSTILE, "kernel": HOSTILE, "components": good["components"] | {
            "images": {"observed": {"bundles": [bundle]}}, "runtime": {"observed": {"runtimes": [runtime]}}}}
        operation = {"id": 3, "title": HOSTILE, "state": "running", "text": HOSTILE, "steps": [{"summary": HOSTILE, "state": HOSTILE}], "progress": 0.5}
        service.say(("answer", "Manager.Describe", json.dumps(hostile)), ("operation", json.dumps(operation)))
        shown = all(browser.shows(f"#{card}-card", HOSTILE[:-1] + "?") for card in ("bundles", "runtimes", "operation", "operations", "host"))
        t.ok(shown, "HTML in documents is shown as text", browser.text())
        t.equal(browser.run("return [window.hacked ?? null, document.querySelectorAll('img, main script').length]"), [None, 0],
                "HTML in documents makes no elements")
        check_layout(t, browser, "a page with long names")
        garbage = {"id": 4, "title": [], "steps": [None, 1, {"state": 5}], "progress": 1e300, "outputs": [[]], "problems": [None], "subject": 1, "error": []}
        service.say(("answer", "Manager.Describe", json.dumps({"components": {"driver": {"observed": [], "plan": 1}, "images": None}, "state": {}})),
                    ("operation", json.dumps(garbage)))
        t.ok(browser.shows("#verdict", "NOT OK: operation 4 changes this host") and browser.shows("#operation-card", "Asked by"), "documents of other shapes are shown",
             browser.text())
        service.say(("answer", "Manager.Describe", "{"), ("ready", "1"))
        t.ok(browser.shows("#verdict", "gpuhostd's answer is not JSON"), "an answer that is not JSON is the verdict", browser.text("#verdict"))
        service.say(("answer", "Manager.Describe", json.dumps(good)), ("fail", "Driver.Plan", "org.freedesktop.DBus.Error.UnknownMethod", "Unknown method Plan"),
                    ("ready", "1"))
        browser.click(f"[id='swap-{OLD}']")
        t.ok(browser.shows("dialog", "the running gpuhostd does not support this request", "systemctl restart gpuhostd"), "an older daemon is explained",
             browser.text("dialog"))
        browser.press(Keys.ESCAPE)
        service.say(("fail", "Driver.Plan"))
        check_list(t, browser, service)
        check_dialogs(t, browser, service, good)
    finally:
        service.close()
        host.start_daemon()


def check(t, host, browser, cockpit):
    browser.open(cockpit.page)
    check_overview(t, host, browser)
    check_layout(t, browser, "the page")
    check_access(t, browser)
    picture(browser, "cockpit-overview")
    preflight_picture(host, browser)
    check_refusal(t, host, browser)
    check_swap(t, host, browser)
    check_cancel(t, host, browser)
    check_failure(t, host, browser)
    check_rollback(t, host, browser)
    check_apply(t, host, browser)
    check_operation(t, browser)
    check_restart(t, host, browser)
    check_reconnect(t, host, browser)
    good = host.json("status")
    check_documents(t, host, browser, {key: value for key, value in good.items() if key != "verdict"})
    check_rights(t, host, browser)
    t.equal(browser.errors(), [], "the console shows no error")


def main():
    t = tap.Tap()
    if lacking := missing():
        t.skip("the page for Cockpit", f"no {lacking}")
        t.done()
    host = FakeHost()
    opened = []
    try:
        os.chmod(host.scratch, 0o755)
        prepare(host)
        host.start_daemon()
        host.settle()
        opened += [Cockpit(host), Browser(host.scratch)]
        check(t, host, opened[1], opened[0])
        if t.failed:
            print("\n".join("# " + line for line in host.tail().splitlines()))
    finally:
        for one in reversed(opened):
            one.close()
        host.close()
    t.done()


main()
