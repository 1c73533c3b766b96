// SPDX-License-Identifier: Apache-2.0
// The driver as facts and rows: pure functions of its documents, with the words of
// daemon/ctl/driver/view.cpp. A row is {id, cells: [{text, style}]}.
import {
    ago,
    bytes,
    flag,
    inside,
    isObject,
    list,
    member,
    number,
    span,
    strings,
    text,
    time,
} from "./document.js";
import { styleOfState } from "./view_operation.js";
import { fact } from "./view_host.js";

export function cell(what, style = "") {
    return { text: String(what), style };
}

function loadedFact(driver) {
    const names = list(driver, "loaded").map((module) => text(module, "name"));
    if (names.length === 0) return fact("Loaded", "none", "warn");
    if (!names.includes("nvidia")) return fact("Loaded", `no NVIDIA driver, but: ${names.join(" ")}`, "warn");
    return fact("Loaded", `${text(driver, "loaded_version") || "unknown version"} (${names.join(" ")})`);
}

function isInStore(driver, version) {
    return list(member(driver, "store"), "versions").some((one) => text(one, "version") === version);
}

function selectedText(driver) {
    const selected = member(driver, "selected");
    const owner = text(driver, "configured");
    if (!isObject(selected))
        return ["off", "preinstalled"].includes(owner)
            ? `none, gpuhostd does not manage the driver (Version=${owner})`
            : "none for this kernel";
    const previous = previousVersion(driver);
    return (
        text(selected, "version") +
        (previous === ""
            ? ""
            : `, previous ${previous}${isInStore(driver, previous) ? "" : " (no longer in the store)"}`)
    );
}

// Returns the version that a rollback loads; empty for none.
export function previousVersion(driver) {
    return text(inside(driver, "selected", "previous"), "version");
}

function gpusFact(driver) {
    const gpus = list(driver, "gpus");
    const unbound = gpus.filter((gpu) => text(gpu, "driver") !== "nvidia");
    const bound = gpus.length - unbound.length;
    if (gpus.length === 0) return fact("GPUs", "none found");
    if (unbound.length === 0)
        return fact("GPUs", `${bound}, ${bound === 1 ? "bound" : "all bound"} to nvidia`);
    const names = unbound.map(
        (gpu) => text(gpu, "address") + (text(gpu, "driver") === "" ? "" : ` (${text(gpu, "driver")})`),
    );
    return fact(
        "GPUs",
        `${bound} of ${gpus.length} bound to nvidia; not bound: ${names.join(" ")}` +
            (bound === 0 ? "" : " (why: gpuhostctl doctor)"),
        "warn",
    );
}

export function driverFacts(driver) {
    const units = strings(driver, "units");
    const blocked = text(driver, "autoload") === "blocked";
    return [
        loadedFact(driver),
        fact("Selected", selectedText(driver)),
        fact("Wanted", text(driver, "configured") || "not set (Version= in section [Driver])"),
        gpusFact(driver),
        ...(units.length === 0 ? [] : [fact("Clients", units.join(" "))]),
        ...(blocked ? [fact("Autoload", "blocked, GPU modules cannot be loaded", "warn")] : []),
    ];
}

export function gpuRows(driver) {
    return list(driver, "gpus").map((gpu) => {
        const by = text(gpu, "driver");
        return {
            id: text(gpu, "address"),
            cells: [
                cell(text(gpu, "address")),
                cell(text(gpu, "device")),
                cell(by || "no driver", by === "" ? "warn" : by === "nvidia" ? "good" : ""),
            ],
        };
    });
}

function means(selection, version, set) {
    return (
        text(selection, "version") === text(version, "version") &&
        text(selection, "modules") === text(set, "digest")
    );
}

// Returns how the running kernel uses a version: "loaded, selected", "previous", "available". "superseded": a
// swap to this version would load newer modules than those that are selected.
function role(driver, version) {
    const selection = member(driver, "selected");
    const sets = modulesOf(driver, version);
    const roles = [];
    if (text(driver, "loaded_version") === text(version, "version")) roles.push("loaded");
    if (sets.some((set) => means(selection, version, set))) roles.push("selected");
    if (sets.some((set) => means(member(selection, "previous"), version, set))) roles.push("previous");
    if (sets.some((set) => means(selection, version, set) && set.superseded === true)) roles.push("superseded");
    if (roles.length > 0) return cell(roles.join(", "), roles[0] === "loaded" ? "good" : "");
    return cell("available");
}

// Returns the module sets of a version for the running kernel.
function modulesOf(driver, version) {
    return list(version, "modules").filter((set) => text(set, "kernel") === text(driver, "kernel"));
}

function modulesCell(driver, version) {
    const sets = modulesOf(driver, version).filter((set) => set.superseded !== true);
    if (sets.length > 0) return cell(sets.map((set) => text(set, "flavour")).join(", "));
    return cell(list(version, "sources").length === 0 ? "no modules" : "not built", "warn");
}

// Returns a row for each version in the store. `swappable`: it has modules for the running kernel and is not
// both loaded and selected.
export function versionRows(driver) {
    return list(member(driver, "store"), "versions").map((version) => {
        const userland = list(version, "userland");
        const state = role(driver, version);
        return {
            id: text(version, "version"),
            cells: [
                cell(text(version, "version")),
                modulesCell(driver, version),
                cell(userland.length === 0 ? "none" : bytes(number(userland[0], "bytes"))),
                state,
            ],
            swappable: modulesOf(driver, version).length > 0 && state.text !== "loaded, selected",
        };
    });
}

function who(subject) {
    const origin = text(subject, "origin");
    if (origin === "daemon") return "gpuhostd";
    if (origin === "cluster") return "the cluster";
    if (origin === "unit") return text(subject, "unit");
    const login = text(subject, "login_user");
    const name = text(subject, "user") || `uid ${number(subject, "uid")}`;
    return login === "" || login === name ? name : `${login} as ${name}`;
}

export function historyRows(history, nowUs) {
    return list(history, "changes").map((change) => {
        const began = number(change, "began_us");
        const ended = number(change, "ended_us");
        const state = text(change, "state");
        return {
            id: String(number(change, "operation")),
            cells: [
                cell(number(change, "operation")),
                cell(`${time(began)}, ${ago(began, nowUs)}`),
                cell(text(change, "from") || "none"),
                cell(text(change, "to") || "none"),
                cell(text(change, "kernel")),
                cell(ended > began ? span(ended - began) : ""),
                cell(
                    flag(change, "waits_for_reboot", false) ? "waits for a reboot" : state,
                    styleOfState(state),
                ),
                cell(who(member(change, "subject"))),
                cell(text(change, "cause")),
            ],
        };
    });
}
