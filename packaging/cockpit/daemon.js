// SPDX-License-Identifier: Apache-2.0
// gpuhostd over D-Bus, org.gpuhost1(5). Calls have the rights of the person who is logged in, or of root
// where that person has turned on administrative access.
import { keepOpen } from "./channel.js";
import { isRunning, printable } from "./document.js";
import { DaemonError, explain, notRunning } from "./errors.js";

const NAME = "org.gpuhost1";
const ROOT = "/org/gpuhost1";
const MOST_TEXT = 16 * 1024 * 1024; // of one answer
const POLL_MS = 1000; // between two queries of an operation without a signal

// Returns the options of a method as cockpit.js sends a{sv}.
function variants(options) {
    const types = { string: "s", boolean: "b" };
    return Object.fromEntries(
        Object.entries(options).map(([key, value]) => [key, { t: types[typeof value], v: value }]),
    );
}

export class Daemon {
    // `onChange()` is called after each signal of gpuhostd, when gpuhostd starts or stops, and when the channel
    // is opened or closed.
    constructor(cockpit, onChange) {
        this.waiting = new Set();
        this.closed = null;
        keepOpen(() => this.open(cockpit, onChange));
    }

    open(cockpit, onChange) {
        this.client = cockpit.dbus(NAME, { bus: "system", superuser: "try" });
        this.owner = null;
        const changed = () => {
            for (const wake of this.waiting) wake();
            onChange();
        };
        const opened = () => {
            this.closed = null;
            changed();
        };
        this.client.addEventListener("owner", (_event, owner) => {
            this.owner = owner;
            opened();
        });
        this.client.addEventListener("close", (_event, options) => {
            this.owner = null;
            this.closed = explain(options ?? {});
            changed();
        });
        this.client.wait().then(opened, () => null);
        this.client.subscribe({ path_namespace: ROOT }, changed);
        return this.client;
    }

    // A call would start a daemon that a person has stopped.
    async call(path, interfaceName, method, type, args) {
        if (this.owner === null) throw this.closed ?? notRunning();
        try {
            return await this.client.call(ROOT + path, `${NAME}.${interfaceName}`, method, args, { type });
        } catch (failure) {
            throw explain(failure);
        }
    }

    async document(...call) {
        const [answer] = await this.call(...call);
        if (answer.length > MOST_TEXT)
            throw new DaemonError("Failed", "gpuhostd's answer is too large", "Use gpuhostctl instead.");
        try {
            return JSON.parse(answer);
        } catch {
            throw new DaemonError(
                "Failed",
                "gpuhostd's answer is not JSON",
                "Restart it: systemctl restart gpuhostd.",
            );
        }
    }

    describeHost() {
        return this.document("", "Manager", "Describe", "", []);
    }

    // Returns {id, kind, state, title, began, end, path} of each kept operation, newest last.
    async operations() {
        const [rows] = await this.call("", "Manager", "ListOperations", "", []);
        return rows.map(([id, kind, state, title, began, ended, path]) => ({
            id,
            kind: printable(kind),
            state: printable(state),
            title: printable(title),
            began,
            ended,
            path,
        }));
    }

    // The code of the error is NotFound if gpuhostd no longer keeps the operation.
    async describeOperation(id) {
        try {
            return await this.document(`/operation/_${id}`, "Operation", "Describe", "", []);
        } catch (error) {
            if (error.code !== "NotFound") throw error;
            const hint = "List them: gpuhostctl operation list.";
            throw new DaemonError("NotFound", `operation ${id} not found`, hint);
        }
    }

    cancel(id) {
        return this.call(`/operation/_${id}`, "Operation", "Cancel", "", []);
    }

    history() {
        return this.document("/driver", "Driver", "History", "", []);
    }

    holders() {
        return this.document("/driver", "Driver", "Holders", "", []);
    }

    // Returns what a request would do. `request`: see preflight.js.
    plan(request) {
        if (request.interface === "Manager")
            return this.document("", "Manager", "Plan", "a{sv}", [variants(request.options)]);
        return this.document("/driver", "Driver", "Plan", "sasa{sv}", [
            request.method.toLowerCase(),
            request.words,
            variants(request.options),
        ]);
    }

    // Starts a request's operation, and returns its number; 0 if there is nothing to do.
    async start(request, options) {
        const all = variants({ ...request.options, ...options });
        const [id] = await this.call(
            request.interface === "Manager" ? "" : "/driver",
            request.interface,
            request.method,
            "s".repeat(request.words.length) + "a{sv}",
            [...request.words, all],
        );
        return id;
    }

    // Waits for gpuhostd's next signal, at most POLL_MS.
    change() {
        return new Promise((resolve) => {
            const wake = () => {
                this.waiting.delete(wake);
                clearTimeout(timer);
                resolve();
            };
            const timer = setTimeout(wake, POLL_MS);
            this.waiting.add(wake);
        });
    }

    // Returns an operation's document after its end. Calls onProgress with each document before.
    async ended(id, onProgress) {
        for (;;) {
            const operation = await this.describeOperation(id);
            if (!isRunning(operation)) return operation;
            onProgress(operation);
            await this.change();
        }
    }
}
