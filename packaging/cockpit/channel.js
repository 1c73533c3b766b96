// SPDX-License-Identifier: Apache-2.0
// Channels to Cockpit's bridge that are opened again after a close, and its administrative access.
const PAUSE_MS = 2000; // before a closed channel is opened again
// Opening a channel asks the bus to start gpuhostd: seldom, if it could not be started.
const ABSENT_PAUSE_MS = 30000;

// Calls open(), which returns a client of cockpit.dbus(). Calls it again after each close of the client.
export function keepOpen(open) {
    open().addEventListener("close", (_event, options) =>
        setTimeout(() => keepOpen(open), options?.problem === "not-found" ? ABSENT_PAUSE_MS : PAUSE_MS),
    );
}

// Calls reload() when administrative access is turned on or off. A channel keeps the rights that it was opened
// with.
export function followAccess(cockpit, reload) {
    let known = null;
    keepOpen(() => {
        const client = cockpit.dbus(null, { bus: "internal" });
        const superuser = client.proxy("cockpit.Superuser", "/superuser");
        superuser.addEventListener("changed", () => {
            const current = superuser.Current;
            if (typeof current !== "string" || current === "init") return;
            const isOn = current !== "none";
            if (known !== null && known !== isOn) reload();
            known = isOn;
        });
        return client;
    });
}
