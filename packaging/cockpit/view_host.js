// SPDX-License-Identifier: Apache-2.0
// The host as facts, {label, text, style}: pure functions of its document, with the words of
// daemon/ctl/host/view_status.cpp. A style is "good", "warn", "bad", "dim" or "".
import {
    entries,
    flag,
    inside,
    isObject,
    list,
    member,
    plural,
    printable,
    strings,
    text,
} from "./document.js";

export function fact(label, what, style = "") {
    return { label, text: what, style };
}

const STATE_STYLES = { idle: "good", degraded: "bad", "reboot-required": "bad" };

function stateFacts(host) {
    const state = text(host, "state");
    const waits = flag(host, "ready", false) ? "" : ", container runtimes and the kubelet wait";
    const facts = [
        fact("State", state + waits, waits === "" ? (STATE_STYLES[state] ?? "") : "warn"),
        fact("Kernel", text(host, "kernel")),
    ];
    for (const [name, component] of entries(member(host, "components"))) {
        const why = text(member(component, "error"), "message");
        if (why !== "") facts.push(fact("Unknown", `${printable(name)}: ${why}`, "bad"));
    }
    return [...facts, fact("gpuhostd", text(host, "version"))];
}

function configFacts(host) {
    const problems = strings(host, "config_problems");
    if (problems.length === 0) return [];
    return [
        fact(
            "Config",
            `${plural(problems.length, "problem", "problems")}, see: gpuhostctl config check`,
            "warn",
        ),
        ...problems.map((problem) => fact("", problem)),
    ];
}

function clusterFacts(host) {
    const cluster = member(host, "cluster");
    const toolkit = text(inside(cluster, "desired"), "toolkit");
    const driver = text(inside(cluster, "desired"), "driver");
    const requested = text(cluster, "upgrade_requested");
    const facts = toolkit === "" ? [] : [fact("Cluster", `selects toolkit ${toolkit}`)];
    if (requested !== "") facts.push(fact("Cluster", `upgrade of this host requested: driver ${requested}`));
    else if (driver !== "")
        facts.push(
            fact(
                "Cluster",
                `selects driver ${driver} for this host; 'gpuhostctl apply' requests the upgrade`,
            ),
        );
    return facts;
}

function problemFacts(label, problem) {
    const hint = text(problem, "hint");
    return [fact(label, text(problem, "text"), "bad"), ...(hint === "" ? [] : [fact("Hint", hint)])];
}

function isPending(plan) {
    return list(plan, "steps").length > 0 || list(plan, "problems").length > 0;
}

function pendingFacts(plan) {
    const undecided = member(plan, "undecided");
    const facts = isObject(undecided) ? problemFacts("Pending", undecided) : [];
    if (!isPending(plan)) return facts;
    return [
        ...facts,
        fact("Pending", text(plan, "title"), "warn"),
        ...strings(plan, "reasons").map((reason) => fact("", reason)),
        ...list(plan, "problems").flatMap((problem) => problemFacts("Problem", problem)),
    ];
}

function plans(host) {
    return entries(member(host, "components")).map(([, component]) => member(component, "plan"));
}

// Returns true if "apply" has something to do. During an operation the host always differs from its
// configuration.
export function canApply(host) {
    return (
        text(host, "state") !== "busy" &&
        plans(host).some((plan) => isPending(plan) || isObject(member(plan, "undecided")))
    );
}

export function hostFacts(host) {
    const pending = text(host, "state") === "busy" ? [] : plans(host).flatMap(pendingFacts);
    const none = text(host, "state") === "busy" || pending.length > 0 ? [] : [fact("Pending", "nothing")];
    return [...stateFacts(host), ...configFacts(host), ...clusterFacts(host), ...pending, ...none];
}
