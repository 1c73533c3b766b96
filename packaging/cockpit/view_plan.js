// SPDX-License-Identifier: Apache-2.0
// Plans and preflights as facts and rows: pure functions, with the words of daemon/ctl/cli/view_plan.cpp.
import { isObject, member, number, plural, strings, text } from "./document.js";
import { fact } from "./view_host.js";
import { stepRows } from "./view_steps.js";

// Returns {text, hint} of each problem. Consecutive problems with the same hint show it once, after the last.
export function problemRows(problems) {
    return problems.map((problem, i) => {
        const hint = text(problem, "hint");
        return {
            text: text(problem, "text"),
            hint: i + 1 < problems.length && text(problems[i + 1], "hint") === hint ? "" : hint,
        };
    });
}

// Returns a row for each holder of the driver. `details`: those of problems "in-use", or the answer of
// Holders.
export function holderRows(details) {
    return details.filter(isObject).map((one) => ({
        id: String(number(one, "pid")),
        cells: [
            text(one, "command"),
            String(number(one, "pid")),
            text(one, "unit"),
            text(one, "pod") === "" ? text(one, "container") : `pod ${text(one, "pod")}`,
            number(one, "processes") > 1 ? String(number(one, "processes")) : "1",
        ].map((what) => ({ text: what, style: "" })),
    }));
}

export function holdersOf(problems) {
    return problems
        .filter((problem) => text(problem, "code") === "in-use")
        .map((problem) => member(problem, "details"));
}

function nothingToDo(plan) {
    const reasons = strings(plan, "reasons");
    return reasons.length === 1 ? `Nothing to do: ${reasons[0]}` : "Nothing to do: the host is up to date.";
}

// Returns what a preflight found: {title, reasons, steps, problems, holders, warnings, verdict, allowed}.
// `allowed` is true if the operation may start. `check` is {plan, checked, problems, warnings, note}, see
// preflight.js.
export function preflightView(check) {
    const { plan, checked, problems } = check;
    const undecided = member(plan, "undecided");
    const steps = stepRows(plan);
    const blocked = problems.length > 0;
    const isNothing = steps.length === 0 && !blocked;
    let verdict = fact("", "Checked on this host: no problems found.", "good");
    if (isNothing) verdict = fact("", nothingToDo(plan), "");
    else if (blocked)
        verdict = fact(
            "",
            `${plural(problems.length, "problem blocks", "problems block")} this. Nothing was changed.`,
            "bad",
        );
    else if (!checked) verdict = fact("", check.note, "warn");
    return {
        title: text(plan, "title"),
        reasons: isNothing ? [] : strings(plan, "reasons"),
        steps,
        verdict,
        problems: problemRows(blocked || !isObject(undecided) ? problems : [undecided]),
        holders: holderRows(holdersOf(problems)),
        warnings: check.warnings,
        allowed: checked && !blocked && steps.length > 0,
    };
}
