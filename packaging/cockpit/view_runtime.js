// SPDX-License-Identifier: Apache-2.0
// Container runtimes and NVIDIA's toolkit as facts and rows: pure functions of their documents,
// with the words of gpuhostctl.
import {
    entries,
    flag,
    inside,
    isObject,
    list,
    member,
    number,
    observed,
    printable,
    strings,
    text,
} from "./document.js";
import { cell } from "./view_driver.js";
import { fact } from "./view_host.js";

const RUNTIME_STYLES = { ready: "good", configured: "good", problem: "bad", "by-hand": "warn" };

export function runtimeRows(host) {
    return list(observed(host, "runtime"), "runtimes").map((runtime) => {
        const state = text(runtime, "state");
        const restart = flag(runtime, "restart_wanted", false) ? "needs a restart" : "";
        return {
            id: text(runtime, "name"),
            cells: [
                cell(text(runtime, "name")),
                cell(state === "by-hand" ? "by hand" : state, RUNTIME_STYLES[state] ?? ""),
                cell(restart, "warn"),
                cell(text(runtime, "text")),
            ],
        };
    });
}

function toolkitText(toolkit) {
    const configs = {
        ours: "config.toml from gpuhost",
        other: "config.toml of another program takes precedence",
        none: "no config.toml",
    };
    const selected = text(toolkit, "selected");
    const wanted = member(toolkit, "wanted");
    if (selected !== "")
        return (
            `${selected} selected, mode ${text(toolkit, "mode")}; ` +
            (configs[text(member(toolkit, "config"), "state")] ?? "config.toml differs from the settings")
        );
    if (text(wanted, "source") === "store")
        return `none selected, ${text(wanted, "version")} is in the store`;
    if (text(wanted, "source") === "preinstalled")
        return `the host's own, in ${text(toolkit, "preinstalled")}`;
    return "none; containers get GPUs by CDI";
}

const MOST_DEVICES = 12;

function deviceNames(devices) {
    const more = devices.length - MOST_DEVICES;
    return (
        devices.slice(0, MOST_DEVICES).join(" ") +
        (more > 0 ? ` and ${more} more ('gpuhostctl cdi list')` : "")
    );
}

function cdiFacts(cdi) {
    const record = member(cdi, "record");
    const devices = strings(record, "devices");
    const problem = text(record, "problem");
    const facts = [];
    if (!flag(cdi, "enable", true))
        facts.push(fact("Containers", "another program describes GPUs to them (Manage=no in section [CDI])"));
    else if (devices.length > 0)
        facts.push(
            fact(
                "Containers",
                `get ${deviceNames(devices)} of driver ${text(inside(record, "inputs"), "driver")}`,
            ),
        );
    if (problem !== "") facts.push(fact("Containers", `do not get all of the driver: ${problem}`, "warn"));
    for (const path of strings(cdi, "changed"))
        facts.push(fact("", `${path} was changed by another program`));
    for (const [name, one] of entries(member(cdi, "validations")))
        if (text(one, "file") === "other")
            facts.push(
                fact(
                    "Operands",
                    `/run/nvidia/validations/${printable(name)} belongs to another program and is kept`,
                ),
            );
    return facts;
}

// Returns what the kubelet gets, with the words of serving_of() in daemon/ctl/gpu/view.cpp.
function servingFact(devices) {
    const offer = member(devices, "offer");
    const answer = member(devices, "answer");
    const lacks = (why) => fact("Kubelet", why, "warn");
    if (!isObject(offer)) return lacks("gets no GPU: they are not offered");
    if (text(offer, "withdrawn") !== "") return lacks(`gets no GPU: ${text(offer, "withdrawn")}`);
    if (!flag(devices, "running", false)) return lacks("gets no GPU: gpuhost-devices does not run");
    if (text(answer, "id") !== text(offer, "id")) return lacks("does not know of the last change");
    const resources = list(answer, "resources");
    for (const resource of resources) {
        const name = text(resource, "name");
        if (text(resource, "error") !== "") return lacks(`refused ${name}: ${text(resource, "error")}`);
        if (!flag(resource, "connected", false)) return lacks(`is not connected for ${name}`);
    }
    const given = resources.map((one) => `${number(one, "devices")} of ${text(one, "name")}`);
    return fact("Kubelet", `gets ${given.join(", ")}`);
}

// Returns a fact about unhealthy GPUs, if there are any, with the words of unhealthy_of() there.
function healthFacts(devices) {
    const bad = list(member(devices, "answer"), "health").filter((one) => text(one, "state") === "unhealthy");
    if (bad.length === 0) return [];
    const first = `${text(bad[0], "uuid")} is unhealthy: ${text(bad[0], "reason")}`;
    const all = bad.length === 1 ? first : `${bad.length} devices are unhealthy; ${first}`;
    return [fact("GPUs", `${all}; see: gpuhostctl gpu list`, "warn")];
}

// Returns a fact if the health of the GPUs is unknown, with the words of undetected_of() there.
function undetectedFacts(devices) {
    const why = text(member(devices, "answer"), "blind");
    return why === "" ? [] : [fact("GPUs", `health is unknown: ${why}`, "warn")];
}

function devicesFacts(devices) {
    return flag(devices, "serve", false)
        ? [servingFact(devices), ...healthFacts(devices), ...undetectedFacts(devices)]
        : [];
}

export function containerFacts(host) {
    const runtime = observed(host, "runtime");
    const toolkit = observed(host, "toolkit");
    const problems = [
        ...strings(member(toolkit, "config"), "problems"),
        ...strings(member(toolkit, "store"), "problems"),
    ];
    return [
        ...(flag(runtime, "configure", true)
            ? []
            : [fact("Runtimes", "are configured by hand (Manage=no in section [Runtime])")]),
        ...strings(runtime, "changed").map((path) =>
            fact("Runtimes", `${path} was changed by another program`),
        ),
        ...(toolkit === null ? [] : [fact("Toolkit", toolkitText(toolkit))]),
        ...problems.map((problem) => fact("", problem, "warn")),
        ...cdiFacts(observed(host, "cdi")),
        ...devicesFacts(observed(host, "devices")),
    ];
}
