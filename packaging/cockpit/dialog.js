// SPDX-License-Identifier: Apache-2.0
// Modal dialogs: <dialog> keeps the focus inside, and Escape closes it.
import { button, element } from "./dom.js";

// Opens a dialog. Returns {body, actions, close, closed}: elements to fill, and a promise of the end.
export function openDialog(title, closeLabel) {
    const opener = document.activeElement?.id ?? "";
    const body = element("div", { class: "dialog-body" });
    const actions = element("div", { class: "dialog-actions" });
    const close = button("dialog-close", closeLabel, "link", () => shown.close());
    const shown = element(
        "dialog",
        { "aria-labelledby": "dialog-title" },
        element("h2", { id: "dialog-title" }, title),
        body,
        element("footer", {}, actions, close),
    );
    document.body.append(shown);
    const closed = new Promise((resolve) =>
        shown.addEventListener("close", () => {
            shown.remove();
            document.getElementById(opener)?.focus();
            resolve();
        }),
    );
    shown.showModal();
    close.focus();
    return { body, actions, close: () => shown.close(), closed };
}
