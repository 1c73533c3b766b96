// SPDX-License-Identifier: Apache-2.0
// Bundles and images as facts and rows: pure functions of a host's document, with the words of gpuhostctl.
import { bytes, flag, inside, list, member, number, observed, plural, strings, text } from "./document.js";
import { cell } from "./view_driver.js";
import { fact } from "./view_host.js";

function names(bundle, key, name) {
    return list(bundle, key)
        .map((one) => text(one, name))
        .join(" ");
}

export function bundleRows(host) {
    return list(observed(host, "images"), "bundles").map((bundle) => {
        const name = text(bundle, "name");
        const problem = text(bundle, "problem");
        if (problem !== "")
            return { id: name, cells: [cell(name), ...Array(5).fill(cell("")), cell(problem, "bad")] };
        return {
            id: name,
            cells: [
                cell(name),
                cell(number(bundle, "generation")),
                cell(number(bundle, "images")),
                cell(
                    [strings(bundle, "drivers").join(" "), names(bundle, "packages", "distribution")]
                        .filter(Boolean)
                        .join("; "),
                ),
                cell(names(bundle, "files", "name")),
                cell(bytes(number(bundle, "bytes"))),
                flag(bundle, "unsigned", false)
                    ? cell("unsigned", "bad")
                    : cell(text(member(bundle, "signer"), "subject")),
            ],
        };
    });
}

const PLACEMENT_STYLES = { failed: "bad", wanted: "warn" };

export function imageRows(host) {
    return list(inside(observed(host, "images"), "placement"), "images").map((image) => ({
        id: `${text(image, "name")} ${text(image, "runtime")}`,
        cells: [
            cell(text(image, "name")),
            cell(text(image, "state"), PLACEMENT_STYLES[text(image, "state")] ?? ""),
            cell(text(image, "runtime")),
            cell(text(image, "why")),
        ],
    }));
}

export function imageFacts(host) {
    const images = observed(host, "images");
    const placement = member(images, "placement");
    const damaged = list(member(images, "scrub"), "damaged").length + number(member(images, "scrub"), "more");
    return [
        ...["mirrors", "packages"].flatMap((what) =>
            strings(member(images, what), "left").map((why) => fact("Problem", why, "warn")),
        ),
        ...strings(placement, "absent").map((pin) =>
            fact("Absent", `${pin}, which is pinned: not in any bundle yet`, "warn"),
        ),
        ...strings(placement, "problems").map((problem) => fact("Problem", problem, "bad")),
        ...(damaged === 0
            ? []
            : [
                  fact(
                      "Problem",
                      `${plural(damaged, "blob", "blobs")} found damaged on the disk, see: gpuhostctl status`,
                      "bad",
                  ),
              ]),
    ];
}
