// SPDX-License-Identifier: Apache-2.0
// The steps of plans and operations as rows.
import { isRunning, list, text } from "./document.js";

const STEP_STYLES = {
    done: "good",
    failed: "bad",
    "undo-failed": "bad",
    pending: "dim",
    skipped: "dim",
    "not needed": "dim",
};

// Returns {number, text, state, style} of each step. A plan's steps have no state. A skipped step has the number
// "", because it is not counted. After the end, a step that has only an undo was not needed.
export function stepRows(document) {
    let count = 0;
    return list(document, "steps").map((step) => {
        const unused = text(step, "state") === "done" && step.undo_only === true && !isRunning(document);
        const state = unused ? "not needed" : text(step, "state");
        return {
            number: state === "skipped" ? "" : (count += 1),
            text: text(step, "summary"),
            state,
            style: state === "" ? "" : (STEP_STYLES[state] ?? "warn"),
        };
    });
}
