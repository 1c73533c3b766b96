// SPDX-License-Identifier: Apache-2.0
// Makes elements. Every text is set as text, never as HTML: names are from outside.

// Returns an element. `properties` are attributes, or listeners by on…; children are elements or texts.
export function element(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
        if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else if (value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
}

export function styled(what, name = "span", className = "") {
    return element(name, { class: `${className} ${what.style}`.trim() }, what.text);
}

// Returns a button. `id` must be unique, since the focus returns to it.
export function button(id, label, kind, onclick, more = {}) {
    return element("button", { id, type: "button", class: kind, onclick, ...more }, label);
}

// Returns facts as a list of labels and values. Facts without a label belong to the one before.
export function factList(facts) {
    const lines = element("dl", {});
    for (const one of facts)
        lines.append(...(one.label === "" ? [] : [element("dt", {}, one.label)]), styled(one, "dd"));
    return lines;
}

// Returns a table. A row's cells are texts with a style, or elements. Narrow screens show each row as a list,
// with the columns' names.
export function table(caption, columns, rows) {
    const head = element("tr", {}, ...columns.map((column) => element("th", { scope: "col" }, column)));
    const body = rows.map((row) =>
        element(
            "tr",
            { "data-row": row.id },
            ...row.cells.map((one, i) => {
                const content = one instanceof Node ? one : styled(one);
                return element(
                    "td",
                    { "data-label": columns[i], class: content.textContent === "" ? "empty" : false },
                    content,
                );
            }),
        ),
    );
    return element(
        "div",
        { class: "rows" },
        element(
            "table",
            {},
            element("caption", {}, caption),
            element("thead", {}, head),
            element("tbody", {}, ...body),
        ),
    );
}

export function alert(style, title, ...lines) {
    return element(
        "div",
        { class: `alert ${style}`, role: style === "bad" ? "alert" : false },
        element("strong", {}, title),
        ...lines.filter((line) => line !== "").map((line) => element("p", {}, line)),
    );
}

export function stepList(steps) {
    return element(
        "ol",
        { class: "steps" },
        ...steps.map((step) =>
            element(
                "li",
                step.number === "" ? { class: "skipped" } : { value: step.number },
                ...(step.state === ""
                    ? []
                    : [element("span", { class: `state ${step.style}` }, step.state), " "]),
                element("span", {}, step.text),
            ),
        ),
    );
}

export function problemList(problems) {
    return element(
        "ul",
        { class: "problems" },
        ...problems.map((problem) =>
            element(
                "li",
                {},
                problem.text,
                problem.hint === ""
                    ? null
                    : element("p", { class: "hint" }, element("b", {}, "Hint: "), problem.hint),
            ),
        ),
    );
}

export function progressBar(percent, what) {
    return element(
        "div",
        { class: "progress" },
        element("progress", { max: 100, value: percent, "aria-label": what }),
        element("span", {}, `${percent}%`),
    );
}

// Replaces the content of an element if its data has changed. Keeps the focus on the same button, and details
// open.
export function update(place, data, make) {
    const text = JSON.stringify(data);
    if (place.shown === text) return;
    place.shown = text;
    const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
    const isOpen = place.querySelector("details")?.open ?? false;
    place.replaceChildren(...make().filter((child) => child !== null));
    for (const one of place.querySelectorAll("details")) one.open = isOpen;
    if (focused !== "") document.getElementById(focused)?.focus();
}
