// SPDX-License-Identifier: Apache-2.0
// Reads members of gpuhostd's JSON documents, for display, as daemon/ctl/cli/document.hpp and text.cpp do. A
// document may have another shape. Each function has a value for a member that is absent or of another type.

export function isObject(value) {
    return value !== null && typeof value === "object" && !Array.isArray(value);
}

export function member(object, key) {
    return isObject(object) && Object.hasOwn(object, key) ? object[key] : null;
}

// Returns a member's member.
export function inside(object, ...keys) {
    return keys.reduce(member, object);
}

// Bidirectional controls would show the characters of a name in another order.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function printable(text) {
    return text.replace(UNPRINTABLE, (one) => (one === "\n" || one === "\t" ? " " : "?"));
}

export function text(object, key) {
    const value = member(object, key);
    return typeof value === "string" ? printable(value) : "";
}

// Returns a size, a count or a time; 0 if it is negative.
export function number(object, key) {
    const value = member(object, key);
    return Number.isFinite(value) && value > 0 ? value : 0;
}

export function flag(object, key, fallback) {
    const value = member(object, key);
    return typeof value === "boolean" ? value : fallback;
}

export function list(object, key) {
    const value = member(object, key);
    return Array.isArray(value) ? value : [];
}

export function strings(object, key) {
    return list(object, key)
        .filter((one) => typeof one === "string")
        .map(printable);
}

// Returns [name, value] of each member of an object.
export function entries(object) {
    return isObject(object) ? Object.entries(object) : [];
}

// Returns an operation's "progress", limited to the range from 0 to 1.
export function progress(operation) {
    const value = member(operation, "progress");
    return Number.isFinite(value) ? Math.min(Math.max(value, 0), 1) : 0;
}

// Returns true if a plan or an operation changes the running host, and not only stored files.
export function changesHost(document) {
    return flag(document, "changes_host", true);
}

export function isRunning(operation) {
    return isObject(operation) && ["running", "undoing"].includes(text(operation, "state"));
}

export function observed(host, component) {
    return inside(host, "components", component, "observed");
}

// Units and times

export function plural(count, one, many) {
    return `${count} ${count === 1 ? one : many}`;
}

function fixed(value, unit) {
    return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function bytes(count) {
    if (count < 1024) return `${count} B`;
    const units = ["KiB", "MiB", "GiB", "TiB"];
    const power = Math.min(Math.floor(Math.log2(count) / 10), units.length);
    return fixed(count / 1024 ** power, units[power - 1]);
}

// Returns a duration in µs as text.
export function span(us) {
    const s = Math.floor(us / 1e6);
    const two = (whole, unit, rest, restUnit) =>
        rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
    if (s < 60) return fixed(us / 1e6, "s");
    if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
    if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor(s / 60) % 60, "min");
    return two(Math.floor(s / 86400), s < 2 * 86400 ? "day" : "days", Math.floor(s / 3600) % 24, "h");
}

// Returns how long ago a time in µs was, in its largest unit: a page shows it for minutes.
export function ago(thenUs, nowUs) {
    const s = Math.floor((nowUs - thenUs) / 1e6);
    if (s < 60) return "just now";
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    return s < 86400
        ? `${Math.floor(s / 3600)} h ago`
        : `${plural(Math.floor(s / 86400), "day", "days")} ago`;
}

// Returns a time in µs since 1970 in the browser's time zone: 2026-11-28 18:03:27.
export function time(us) {
    const date = new Date(us / 1000);
    if (us === 0 || Number.isNaN(date.getTime())) return "";
    const two = (value) => String(value).padStart(2, "0");
    return (
        `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
        `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
    );
}
