// SPDX-License-Identifier: Apache-2.0
// The dialogs of actions. Each shows first what it would do: no action starts without its preflight.
import { isRunning, plural } from "./document.js";
import { openDialog } from "./dialog.js";
import { alert, button, element, factList, problemList, progressBar, stepList, table } from "./dom.js";
import { check, withHolders } from "./preflight.js";
import { operationView } from "./view_operation.js";
import { holderRows, preflightView } from "./view_plan.js";

const POLICIES = [
    ["", "As configured (HolderPolicy=)"],
    ["refuse", "Refuse the swap"],
    ["wait", "Wait until they have ended"],
    ["terminate", "Terminate them"],
];
const UNDO =
    "The steps that are done are undone, and the host is as it was before. " +
    "After its point of no return an operation can't be cancelled.";
const HOLDER_COLUMNS = ["Process", "PID", "Unit", "Container", "Processes"];

function holderTable(caption, rows) {
    return rows.length === 0 ? null : table(caption, HOLDER_COLUMNS, rows);
}

// Returns the answer of Holders; empty for those who may not ask.
async function presentHolders(daemon) {
    try {
        const answer = await daemon.holders();
        return Array.isArray(answer) ? answer : [];
    } catch {
        return [];
    }
}

function preflightParts(view, holders) {
    const style = view.verdict.style || "info";
    return [
        alert(style, view.verdict.text),
        view.problems.length === 0 ? null : problemList(view.problems),
        holderTable("Processes that use the driver", view.holders.length > 0 ? view.holders : holders),
        ...view.warnings.map((warning) => alert("warn", warning)),
        view.steps.length === 0 ? null : element("h3", {}, view.title),
        ...view.reasons.map((reason) => element("p", { class: "dim" }, reason)),
        view.steps.length === 0 ? null : stepList(view.steps),
    ].filter((part) => part !== null);
}

function policyChoice(onchange) {
    const options = POLICIES.map(([value, label]) => element("option", { value }, label));
    return element(
        "p",
        { class: "field" },
        element("label", { for: "holder-policy" }, "If processes use the driver"),
        element("select", { id: "holder-policy", onchange }, ...options),
    );
}

// Opens the dialog of a request: title, the label of its button, `holders`: the request has a holder policy.
// find() returns {request, notes}, or a promise of them.
export function openRequest(daemon, find, { title, label, holders }) {
    const dialog = openDialog(title, "Cancel");
    const result = element("div", { id: "preflight", "aria-live": "polite" });
    const start = button("dialog-start", label, "primary", run, { disabled: true });
    let dryRun = 0;
    let isClosed = false;
    let found = null;
    let wanted = null;
    if (holders) dialog.body.append(policyChoice(preflight));
    dialog.body.append(result);
    dialog.actions.append(start);
    dialog.closed.then(() => {
        isClosed = true;
        cancelDryRun();
    });

    function cancelDryRun() {
        if (isClosed && dryRun !== 0) daemon.cancel(dryRun).catch(() => null);
    }

    function began(id) {
        dryRun = id;
        cancelDryRun();
    }

    // Sets `wanted`: what find() returned, with the chosen holder policy.
    async function findRequest() {
        if (found === null) {
            found = await find();
            dialog.body.prepend(...found.notes.map((note) => alert("info", note)));
        }
        wanted = withHolders(found.request, dialog.body.querySelector("select")?.value ?? "");
    }

    function setBusy(isBusy) {
        start.disabled = true;
        for (const choice of dialog.body.querySelectorAll("select")) choice.disabled = isBusy;
    }

    async function preflight() {
        setBusy(true);
        result.replaceChildren(element("p", {}, "Checking on this host…"));
        try {
            await findRequest();
            const checked = await check(daemon, wanted, began, (operation) =>
                result.replaceChildren(
                    element("p", {}, "Checking on this host…"),
                    progressBar(operationView(operation, "", 0).percent, "progress of the check"),
                ),
            );
            dryRun = 0;
            const view = preflightView(checked);
            const using = holders && view.steps.length > 0 ? holderRows(await presentHolders(daemon)) : [];
            result.replaceChildren(...preflightParts(view, using));
            setBusy(false);
            start.disabled = !view.allowed;
        } catch (error) {
            dryRun = 0;
            setBusy(false);
            result.replaceChildren(alert("bad", error.message, error.hint ?? ""));
        }
    }

    async function run() {
        setBusy(true);
        try {
            const id = await daemon.start(wanted, {});
            if (id === 0) {
                setBusy(false);
                result.replaceChildren(alert("info", "Nothing to do: the host is up to date."));
                return;
            }
            dialog.close();
            document.getElementById("operation-card")?.scrollIntoView({ block: "nearest" });
        } catch (error) {
            setBusy(false);
            result.prepend(alert("bad", error.message, error.hint ?? ""));
        }
    }

    preflight();
}

// Opens the dialog that cancels a running operation. It shows what has been done, which would be undone.
export async function openCancel(daemon, id) {
    const dialog = openDialog(`Cancel operation ${id}?`, "Keep it running");
    const result = element("div", { "aria-live": "polite" });
    const stop = button("dialog-start", "Cancel the operation", "danger", run, { disabled: true });
    dialog.body.append(result);
    dialog.actions.append(stop);
    try {
        const operation = await daemon.describeOperation(id);
        const view = operationView(operation, "", 0);
        stop.disabled = !isRunning(operation);
        result.append(
            alert(
                "info",
                `${view.title}: ${view.state.text}, ${view.percent}%`,
                isRunning(operation) ? UNDO : "It has ended.",
            ),
            stepList(view.steps),
        );
    } catch (error) {
        result.append(alert("bad", error.message, error.hint ?? ""));
    }

    async function run() {
        stop.disabled = true;
        try {
            await daemon.cancel(id);
            dialog.close();
        } catch (error) {
            result.prepend(alert("bad", error.message, error.hint ?? ""));
            stop.disabled = false;
        }
    }
}

// Opens the details of an operation.
export async function openOperation(daemon, id) {
    const dialog = openDialog(`Operation ${id}`, "Close");
    try {
        const operation = await daemon.describeOperation(id);
        dialog.body.append(...operationParts(operationView(operation, "", Date.now() * 1000)));
    } catch (error) {
        dialog.body.append(alert("bad", error.message, error.hint ?? ""));
    }
}

// The steps of an operation that has ended well are of interest to few.
function stepParts({ steps, state }) {
    if (steps.length === 0) return null;
    if (state.style !== "good") return stepList(steps);
    const counted = steps.filter((step) => step.number !== "").length;
    return element(
        "details",
        {},
        element("summary", {}, plural(counted, "step", "steps")),
        stepList(steps),
    );
}

// Returns the elements that show an operation.
export function operationParts(view) {
    return [
        element("h3", {}, view.title),
        view.running ? progressBar(view.percent, `progress of operation ${view.id}`) : null,
        element(
            "p",
            { class: "outcome" },
            element("span", { class: view.state.style }, view.state.text),
            view.running && view.text !== "" ? `: ${view.text}` : "",
        ),
        view.problems.length === 0 ? null : problemList(view.problems),
        holderTable("Processes that use the driver", view.holders),
        ...view.warnings.map((warning) => alert("warn", warning)),
        factList(view.facts),
        stepParts(view),
    ].filter((part) => part !== null);
}
