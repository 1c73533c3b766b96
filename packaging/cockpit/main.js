// SPDX-License-Identifier: Apache-2.0
// The page: gets gpuhostd's documents after each of its signals, and shows them.
import { showCards } from "./cards.js";
import { followAccess } from "./channel.js";
import { Daemon } from "./daemon.js";
import { flag, isRunning, observed, text } from "./document.js";
import { alert, update } from "./dom.js";
import { explain } from "./errors.js";
import { followTheme } from "./theme.js";
import { verdictOf, verdictOfError } from "./verdict.js";

const LEAST_MS = 200; // between two refreshes
const IDLE_MS = 30000; // until a refresh without a signal: GPUs and times change without one

const verdictPlace = document.getElementById("verdict");
const cards = document.getElementById("cards");

function showVerdict(verdict) {
    update(verdictPlace, verdict, () => [
        alert(verdict.ok ? "good" : "bad", `${verdict.ok ? "OK" : "NOT OK"}: ${verdict.text}`, verdict.hint),
    ]);
}

const endedDryRuns = new Set(); // of id and begin: most of the list, which each refresh would ask for again

// Returns the document of the running operation, else of the last one that was not a dry run; null for none.
async function lastOperation(daemon, operations) {
    for (const { id, began } of [...operations].reverse()) {
        const key = `${id} ${began}`;
        if (endedDryRuns.has(key)) continue;
        const operation = await daemon.describeOperation(id).catch((error) => {
            if (error.code === "NotFound") return null; // removed after the list was made
            throw error;
        });
        if (operation === null) continue;
        if (!flag(operation, "dry_run", false)) return operation;
        if (!isRunning(operation)) endedDryRuns.add(key);
    }
    return null;
}

async function load(daemon) {
    const host = await daemon.describeHost();
    const operations = await daemon.operations();
    const last = await lastOperation(daemon, operations);
    return {
        host,
        operations,
        last,
        history: await daemon.history(),
        loaded: text(observed(host, "driver"), "loaded_version"),
        nowUs: Date.now() * 1000,
    };
}

async function refresh(daemon) {
    try {
        const documents = await load(daemon);
        showVerdict(verdictOf(documents.host, documents.last));
        showCards(cards, daemon, documents);
        cards.hidden = false;
    } catch (error) {
        showVerdict(verdictOfError(explain(error)));
        cards.hidden = error.code === "not-running" || cards.childElementCount === 0;
    }
}

// Runs `work` after each call, not at the same time, and at most every LEAST_MS.
function coalesced(work) {
    let isActive = false;
    let isWanted = false;
    return async function run() {
        isWanted = true;
        if (isActive) return;
        isActive = true;
        while (isWanted) {
            isWanted = false;
            await work();
            await new Promise((resolve) => setTimeout(resolve, LEAST_MS));
        }
        isActive = false;
    };
}

function main() {
    followTheme();
    const run = coalesced(() => refresh(daemon));
    const daemon = new Daemon(window.cockpit, run);
    followAccess(window.cockpit, () => window.location.reload());
    setInterval(() => document.hidden || run(), IDLE_MS);
    document.addEventListener("visibilitychange", () => document.hidden || run());
}

main();
