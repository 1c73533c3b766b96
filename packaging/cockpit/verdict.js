// SPDX-License-Identifier: Apache-2.0
// The verdict of a host, as daemon/client/verdict.cpp: tests/host/cockpit_test.py compares the two.
import {
    changesHost,
    entries,
    flag,
    isObject,
    list,
    member,
    number,
    printable,
    strings,
    text,
} from "./document.js";

function notOk(what, hint) {
    return { ok: false, text: what, hint };
}

function isRunning(operation) {
    return isObject(operation) && number(operation, "ended_us") === 0;
}

// Returns true if the selected driver is not loaded, and another was selected before.
function canGoBack(component) {
    const observed = member(component, "observed");
    const selected = member(observed, "selected");
    return isObject(member(selected, "previous")) && text(observed, "loaded_version") !== text(selected, "version");
}

// Returns how to make the pending changes of a component. If the last operation tried it in vain, its cause
// comes first. If the selected driver does not load, the way back to the one before comes last.
function hintToApply(component, operation) {
    const failed = ["refused", "failed", "rolled-back", "incomplete"];
    if (!isObject(operation) || text(operation, "kind") !== "apply" || !failed.includes(text(operation, "state")))
        return "Apply it: gpuhostctl apply.";
    const show = `gpuhostctl operation show ${number(operation, "id")}`;
    const back = canGoBack(component) ? " Or go back: gpuhostctl driver rollback." : "";
    return `See why it failed: ${show}. Then apply it: gpuhostctl apply.${back}`;
}

function daemonVerdict(host, operation) {
    const state = text(host, "state");
    if (state === "reboot-required")
        return notOk("this host requires a reboot", "Reboot it: systemctl reboot.");
    if (isRunning(operation) && changesHost(operation) && !flag(operation, "dry_run", false)) {
        const id = number(operation, "id");
        return notOk(
            `operation ${id} changes this host: ${text(operation, "title")}`,
            `Wait for it: gpuhostctl operation wait ${id}.`,
        );
    }
    if (!flag(host, "ready", false) || state === "starting")
        return notOk("gpuhostd is still starting", "Wait for it: gpuhostctl wait-ready.");
    return null;
}

function componentVerdict(name, component, operation) {
    const error = member(component, "error");
    if (isObject(error))
        return notOk(`${printable(name)}: ${text(error, "message")}`, "See why: journalctl --unit=gpuhostd.");
    const plan = member(component, "plan");
    const undecided = member(plan, "undecided");
    const problem = list(plan, "problems")[0] ?? (isObject(undecided) ? undecided : null);
    if (problem !== null) return notOk(text(problem, "text"), text(problem, "hint"));
    if (list(plan, "steps").length > 0)
        return notOk(`pending: ${text(plan, "title")}`, hintToApply(component, operation));
    return null;
}

function count(gpus) {
    return `${gpus}${gpus === 1 ? " GPU" : " GPUs"}`;
}

function gpusVerdict(driver) {
    const gpus = list(driver, "gpus");
    const served = gpus.filter((gpu) => text(gpu, "driver") === "nvidia").length;
    // GPUs with another driver, such as vfio-pci, are for other purposes.
    const unserved = gpus
        .filter((gpu) => ["", "nouveau"].includes(text(gpu, "driver")))
        .map((gpu) => text(gpu, "address"));
    if (text(driver, "configured") === "off")
        return { ok: true, text: "gpuhostd does not manage the driver (Version=off)", hint: "" };
    const version = text(driver, "loaded_version");
    const who = version === "" ? "no driver is loaded" : `driver ${version}`;
    if (unserved.length > 0)
        return notOk(
            `${who}${version === "" ? " for " : " does not serve "}${count(unserved.length)} of ` +
                `${served + unserved.length}: ${unserved.join(", ")}`,
            "Find the reason: gpuhostctl doctor.",
        );
    if (served === 0) return { ok: true, text: "this host has no NVIDIA GPU for a driver", hint: "" };
    return { ok: true, text: `${who} serves ${count(served)}`, hint: "" };
}

function configVerdict(host) {
    const problems = strings(host, "config_problems");
    return problems.length === 0
        ? null
        : notOk(`configuration: ${problems[0]}`, "Check it: gpuhostctl config check.");
}

// Returns {ok, text, hint}. `operation` is the one that runs, else the last one, or null.
export function verdictOf(host, operation) {
    const components = member(host, "components");
    const driver = member(components, "driver");
    const gpus = gpusVerdict(member(driver, "observed"));
    // gpuhostctl gets the components sorted by name.
    const others = entries(components).sort(([a], [b]) => (a < b ? -1 : 1));
    return (
        daemonVerdict(host, operation) ??
        componentVerdict("driver", driver, operation) ??
        (gpus.ok ? null : gpus) ??
        configVerdict(host) ??
        others
            .map(([name, one]) => componentVerdict(name, one, operation))
            .find((found) => found !== null) ??
        gpus
    );
}

// Returns the verdict of a host that can't be described, from an error of daemon.js.
export function verdictOfError(error) {
    return notOk(printable(error.message), printable(error.hint));
}
