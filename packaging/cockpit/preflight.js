// SPDX-License-Identifier: Apache-2.0
// Requests and their preflights. A request is {interface, method, words, options}: a method of org.gpuhost1
// that starts an operation. The preflight is the same method with the option "dry-run".
import { list, member, strings, text } from "./document.js";
import { warningsOf } from "./view_operation.js";

export function swapRequest(version) {
    return { interface: "Driver", method: "Swap", words: [version], options: {} };
}

export function rollbackRequest() {
    return { interface: "Driver", method: "Rollback", words: [], options: {} };
}

// `only`: names of components, separated by blanks; empty for all.
export function applyRequest(only) {
    return { interface: "Manager", method: "Apply", words: [], options: only === "" ? {} : { only } };
}

export function withHolders(request, policy) {
    return policy === "" ? request : { ...request, options: { ...request.options, holders: policy } };
}

// Checks a request on the host, without a change. Returns {plan, checked, problems, warnings, note}; `note`
// says why nothing was checked. `onStart(id)` gets the number of the dry run.
export async function check(daemon, request, onStart, onProgress) {
    const plan = await daemon.plan(request);
    const found = {
        plan,
        checked: false,
        problems: list(plan, "problems"),
        warnings: strings(plan, "warnings"),
        note: "",
    };
    if (list(plan, "steps").length === 0 || found.problems.length > 0) return found;
    let id = 0;
    try {
        id = await daemon.start(request, { "dry-run": true });
    } catch (error) {
        if (error.code !== "AccessDenied" && error.code !== "Busy") throw error;
        const why = [error.message, error.hint].filter(Boolean).join(". ");
        return { ...found, note: `Nothing was checked on this host: ${why}` };
    }
    if (id === 0)
        // meanwhile there is nothing to do
        return { ...found, plan: await daemon.plan(request) };
    onStart(id);
    const operation = await daemon.ended(id, onProgress);
    const problems = list(operation, "problems");
    if (problems.length === 0 && text(operation, "state") !== "checked") {
        const error = member(operation, "error");
        const why = text(error, "message") || `the check was ${text(operation, "state")}`;
        return { ...found, problems: [{ text: why, hint: text(error, "hint") }] };
    }
    return { ...found, checked: true, problems, warnings: warningsOf(operation) };
}
