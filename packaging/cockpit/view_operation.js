// SPDX-License-Identifier: Apache-2.0
// Operations as facts and rows: pure functions of their documents, with the words of
// daemon/ctl/cli/view_operation.cpp.
import {
    ago,
    changesHost,
    isRunning,
    list,
    member,
    number,
    progress,
    span,
    strings,
    text,
    time,
} from "./document.js";
import { fact } from "./view_host.js";
import { holderRows, holdersOf, problemRows } from "./view_plan.js";
import { stepRows } from "./view_steps.js";

export function styleOfState(state) {
    if (["committed", "checked"].includes(state)) return "good";
    if (["incomplete", "reboot-required"].includes(state)) return "bad";
    return ["running", "undoing"].includes(state) ? "bold" : "warn";
}

function headline(state) {
    const words = {
        committed: "done",
        checked: "checked, no problems found",
        running: "running",
        undoing: "undoing",
        refused: "refused, nothing was changed",
        cancelled: "cancelled, the host is as it was before",
        failed: "failed, nothing was changed",
        "rolled-back": "failed and was rolled back, the host is as it was before",
        "reboot-required": "failed, a reboot is required",
        incomplete: "failed and is incomplete, it could not be rolled back",
    };
    return words[state] ?? state;
}

// Returns the last step that began, which is the one that failed.
function failedStep(operation) {
    const steps = stepRows(operation);
    const began = steps.filter((step) => !["", "pending", "skipped"].includes(step.state)).pop();
    const counted = steps.filter((step) => step.number !== "").length;
    return began === undefined ? "" : `in step ${began.number} of ${counted}, ${began.text}`;
}

export function warningsOf(operation) {
    return list(operation, "outputs").flatMap((output) => strings(output, "warnings"));
}

function notesOf(operation) {
    return list(operation, "outputs").flatMap((output) => strings(output, "notes"));
}

function causeFacts(operation, loaded) {
    const state = text(operation, "state");
    const error = member(operation, "error");
    const cause = text(error, "message");
    const hasFailed = ["failed", "rolled-back", "incomplete", "reboot-required"].includes(state);
    const hint =
        text(error, "hint") ||
        `See: gpuhostctl operation show ${number(operation, "id")}; journalctl -u gpuhostd.`;
    return [
        ...(hasFailed && failedStep(operation) !== "" ? [fact("Failed", failedStep(operation))] : []),
        ...(cause === "" || cause === state ? [] : [fact("Cause", cause, "bad")]),
        ...(hasFailed && loaded !== "" && changesHost(operation)
            ? [fact("Runs now", `driver ${loaded}`)]
            : []),
        ...(hasFailed ? [fact("Hint", hint)] : []),
    ];
}

function askedBy(subject) {
    if (text(subject, "origin") === "daemon") return "gpuhostd, at its start";
    const name = text(subject, "user") || `user ${number(subject, "uid")}`;
    const login = text(subject, "login_user");
    const unit = text(subject, "unit");
    return (
        `${name}${login === "" || login === name ? "" : `, logged in as ${login},`} with ` +
        text(subject, "command") +
        ` (pid ${number(subject, "pid")})${unit === "" ? "" : ` in ${unit}`}`
    );
}

// Returns {id, title, running, state, percent, text, facts, steps, problems, warnings} of an operation.
// `loaded` is the loaded version of the driver.
export function operationView(operation, loaded, nowUs) {
    const state = text(operation, "state");
    const began = number(operation, "began_us");
    const ended = number(operation, "ended_us");
    return {
        id: number(operation, "id"),
        title: text(operation, "title"),
        running: isRunning(operation),
        state: fact("", headline(state), styleOfState(state)),
        percent: Math.floor(progress(operation) * 100),
        text: text(operation, "text"),
        facts: [
            ...causeFacts(operation, loaded),
            fact("Asked by", askedBy(member(operation, "subject"))),
            fact("Began", `${time(began)}, ${ago(began, nowUs)}`),
            ...(ended >= began && ended !== 0 ? [fact("Took", span(ended - began))] : []),
            ...notesOf(operation).map((note) => fact("Note", note)),
        ],
        steps: stepRows(operation),
        problems: problemRows(list(operation, "problems")),
        holders: holderRows(holdersOf(list(operation, "problems"))),
        warnings: warningsOf(operation),
    };
}

// Returns a row for each operation, newest first. `operations` is daemon.js's list.
export function operationRows(operations, nowUs) {
    return [...operations].reverse().map((one) => ({
        id: String(one.id),
        path: one.path,
        cells: [
            { text: String(one.id), style: "" },
            { text: one.title, style: "" },
            { text: one.state, style: styleOfState(one.state) },
            { text: ago(one.began, nowUs), style: "" },
            { text: one.ended > one.began ? span(one.ended - one.began) : "", style: "" },
        ],
    }));
}
