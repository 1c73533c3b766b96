// SPDX-License-Identifier: Apache-2.0
// Makes errors with a hint of what cockpit.js reports, as daemon/client/client_bus.cpp does.
const NAME = "org.gpuhost1";
const NOT_RUNNING = [
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Disconnected",
    "org.freedesktop.systemd1.NoSuchUnit",
    "org.freedesktop.systemd1.LoadFailed",
    "org.freedesktop.DBus.Error.Spawn.ChildExited",
];

const OLD = ["UnknownMethod", "UnknownInterface", "InvalidArgs", "InvalidSignature"].map(
    (word) => `org.freedesktop.DBus.Error.${word}`,
);

const DENIED = [
    "org.freedesktop.DBus.Error.AccessDenied",
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired",
];

export class DaemonError extends Error {
    constructor(code, message, hint) {
        super(message);
        this.code = code;
        this.hint = hint;
    }
}

export function notRunning() {
    return new DaemonError("not-running", "gpuhostd is not running", "Start it: systemctl start gpuhostd.");
}

// Returns a DaemonError for what cockpit.js reports.
export function explain(failure) {
    if (failure instanceof DaemonError) return failure;
    const name = failure.name ?? "";
    const message = failure.message ?? "";
    if (name.startsWith(`${NAME}.Error.`)) {
        // message and hint are two lines
        const [first, ...hint] = message.split("\n");
        return new DaemonError(name.slice(NAME.length + 7), first, hint.join(" "));
    }
    if (NOT_RUNNING.includes(name) || failure.problem === "not-found") return notRunning();
    if (
        DENIED.includes(name) ||
        ["access-denied", "not-authorized", "authentication-failed"].includes(failure.problem)
    )
        return new DaemonError(
            "AccessDenied",
            "permission denied",
            "Turn on administrative access, or allow the action in polkit.",
        );
    if (["disconnected", "terminated"].includes(failure.problem))
        return new DaemonError(
            "Disconnected",
            "the connection to this host is lost",
            "The page connects again. If it does not, reload it.",
        );
    if (name === "org.freedesktop.DBus.Error.UnknownObject") return new DaemonError("NotFound", message, "");
    if (OLD.includes(name))
        return new DaemonError(
            "Unsupported",
            `the running gpuhostd does not support this request: ${message}`,
            "It may be older than this page. Restart it: systemctl restart gpuhostd.",
        );
    return new DaemonError(
        "Failed",
        message || failure.problem || "the request failed",
        "See why: journalctl --unit=gpuhostd.",
    );
}
