// SPDX-License-Identifier: Apache-2.0
// The cards of the page, each from the documents that main.js has: {host, operations, last, history, nowUs}.
import { openCancel, openOperation, openRequest, operationParts } from "./actions.js";
import { entries, inside, member, observed, strings, text } from "./document.js";
import { button, element, factList, styled, table, update } from "./dom.js";
import { applyRequest, rollbackRequest, swapRequest } from "./preflight.js";
import { driverFacts, gpuRows, historyRows, previousVersion, versionRows } from "./view_driver.js";
import { canApply, hostFacts } from "./view_host.js";
import { operationRows, operationView } from "./view_operation.js";
import { bundleRows, imageFacts, imageRows } from "./view_images.js";
import { containerFacts, runtimeRows } from "./view_runtime.js";

const MOST_ROWS = 100;

// Each function below returns the parts of a card: {data, make}, where make() returns the elements that show
// data. A part is made again only if its data has changed, so that its buttons stay.

// Returns a table, or a sentence instead of an empty one.
function rowsOr(none, caption, columns, rows) {
    if (rows.length === 0) return element("p", { class: "dim" }, none);
    const made = table(caption, columns, rows.slice(0, MOST_ROWS));
    if (rows.length > MOST_ROWS)
        made.append(element("p", { class: "dim" }, `and ${rows.length - MOST_ROWS} more: use gpuhostctl`));
    return made;
}

// gpuhostctl apply requests the driver that the cluster's policy selects; this page applies the other
// components.
async function findApply(daemon) {
    const host = await daemon.describeHost();
    const wanted = text(inside(host, "cluster", "desired"), "driver");
    const others = entries(member(host, "components"))
        .map(([name]) => name)
        .filter((name) => name !== "driver");
    const notes =
        wanted === ""
            ? []
            : [`The cluster's policy selects driver ${wanted} for this host. Request it: gpuhostctl apply.`];
    return { request: applyRequest(wanted === "" ? "" : others.join(" ")), notes };
}

function openApply(daemon) {
    openRequest(daemon, () => findApply(daemon), {
        title: "Apply the configuration",
        label: "Apply",
        holders: false,
    });
}

function hostCard(daemon, { host }) {
    return [
        { data: hostFacts(host), make: () => [factList(hostFacts(host))] },
        {
            data: canApply(host),
            make: () => [
                canApply(host) ? button("apply", "Apply…", "secondary", () => openApply(daemon)) : null,
            ],
        },
    ];
}

function driverCard(daemon, { host }) {
    const driver = observed(host, "driver");
    const previous = previousVersion(driver);
    const open = () =>
        openRequest(daemon, () => ({ request: rollbackRequest(), notes: [] }), {
            title: `Roll back to driver ${previous}`,
            label: "Roll back",
            holders: true,
        });
    return [
        { data: driverFacts(driver), make: () => [factList(driverFacts(driver))] },
        {
            data: previous,
            make: () => [previous === "" ? null : button("rollback", "Roll back…", "secondary", open)],
        },
    ];
}

function gpusCard(_daemon, { host }) {
    const rows = gpuRows(observed(host, "driver"));
    return [
        { data: rows, make: () => [rowsOr("none found", "GPUs", ["Address", "Device", "Driver"], rows)] },
    ];
}

function operationCard(daemon, { last, loaded, nowUs }) {
    if (last === null)
        return [{ data: null, make: () => [element("p", { class: "dim" }, "No operation yet.")] }];
    const view = operationView(last, loaded, nowUs);
    const open = () => openCancel(daemon, view.id);
    return [
        { data: view, make: () => operationParts(view) },
        {
            data: [view.id, view.running],
            make: () => [view.running ? button("cancel", "Cancel…", "secondary", open) : null],
        },
    ];
}

function versionsCard(daemon, { host }) {
    const driver = observed(host, "driver");
    const rows = versionRows(driver);
    const open = (version) =>
        openRequest(daemon, () => ({ request: swapRequest(version), notes: [] }), {
            title: `Swap to driver ${version}`,
            label: "Swap",
            holders: true,
        });
    const make = (row) => ({
        ...row,
        cells: [
            ...row.cells,
            row.swappable
                ? button(`swap-${row.id}`, "Swap…", "secondary", () => open(row.id), {
                      "aria-label": `Swap to driver ${row.id}`,
                  })
                : element("span", {}),
        ],
    });
    const columns = ["Version", `Modules for ${text(driver, "kernel")}`, "Userland", "State", "Action"];
    const problems = strings(member(driver, "store"), "problems");
    return [
        {
            data: [rows, columns, problems],
            make: () => [
                rowsOr(
                    "The store is empty. Import a driver: gpuhostctl upgrade FILE.",
                    "Driver versions in the store",
                    columns,
                    rows.map(make),
                ),
                ...problems.map((problem) => styled({ text: problem, style: "bad" }, "p")),
            ],
        },
    ];
}

function runtimesCard(_daemon, { host }) {
    const rows = runtimeRows(host);
    const facts = containerFacts(host);
    return [
        {
            data: [rows, facts],
            make: () => [
                rowsOr(
                    "No container runtimes found.",
                    "Container runtimes",
                    ["Runtime", "State", "Restart", "Reason"],
                    rows,
                ),
                factList(facts),
            ],
        },
    ];
}

function bundlesCard(_daemon, { host }) {
    const rows = bundleRows(host);
    const images = imageRows(host);
    const facts = imageFacts(host);
    return [
        {
            data: [rows, images, facts],
            make: () => [
                rowsOr(
                    "No bundles. Import one: gpuhostctl bundle import FILE.",
                    "Bundles",
                    ["Bundle", "Generation", "Images", "Drivers and packages", "Files", "Size", "Signer"],
                    rows,
                ),
                images.length === 0
                    ? null
                    : rowsOr(
                          "",
                          "Images in container runtimes",
                          ["Image", "State", "Runtime", "Reason"],
                          images,
                      ),
                facts.length === 0 ? null : factList(facts),
            ],
        },
    ];
}

function operationsCard(daemon, { operations, nowUs }) {
    const rows = operationRows(operations, nowUs);
    const make = (row) => ({
        ...row,
        cells: [
            row.cells[0],
            button(`operation-${row.id}`, row.cells[1].text, "link", () =>
                openOperation(daemon, Number(row.id)),
            ),
            ...row.cells.slice(2),
        ],
    });
    return [
        {
            data: rows,
            make: () => [
                rowsOr(
                    "No operation yet.",
                    "Operations, newest first",
                    ["ID", "Title", "State", "Began", "Took"],
                    rows.map(make),
                ),
            ],
        },
    ];
}

function historyCard(_daemon, { history, nowUs }) {
    const rows = historyRows(history, nowUs);
    return [
        {
            data: rows,
            make: () => [
                rowsOr(
                    "The driver was not changed yet.",
                    "Changes of the driver, newest first",
                    ["ID", "Began", "From", "To", "Kernel", "Took", "Outcome", "Asked by", "Cause"],
                    rows,
                ),
            ],
        },
    ];
}

const CARDS = [
    ["host", "Host", hostCard, ""],
    ["driver", "Driver", driverCard, ""],
    ["operation", "Operation", operationCard, "wide"],
    ["versions", "Driver versions", versionsCard, "wide"],
    ["gpus", "GPUs", gpusCard, ""],
    ["runtimes", "Containers", runtimesCard, ""],
    ["bundles", "Bundles and images", bundlesCard, "wide"],
    ["operations", "Operations", operationsCard, "wide"],
    ["history", "Driver history", historyCard, "wide"],
];

function makeCard(id, title, className) {
    return element(
        "section",
        { id: `${id}-card`, class: `card ${className}`, "aria-labelledby": `${id}-title` },
        element("h2", { id: `${id}-title` }, title),
    );
}

// Makes or updates all cards.
export function showCards(place, daemon, documents) {
    for (const [id, title, describe, className] of CARDS) {
        if (document.getElementById(`${id}-card`) === null) place.append(makeCard(id, title, className));
        const card = document.getElementById(`${id}-card`);
        describe(daemon, documents).forEach((part, i) => {
            if (card.children.length < i + 2) card.append(element("div", { class: "content" }));
            update(card.children[i + 1], part.data, part.make);
        });
    }
}
