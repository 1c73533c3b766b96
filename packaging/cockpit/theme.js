// SPDX-License-Identifier: Apache-2.0
// Follows the style that a person chose in Cockpit's menu, which Cockpit keeps in localStorage.
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function apply(style) {
    const isDark = style === "dark" || (style !== "light" && dark.matches);
    document.documentElement.classList.toggle("pf-theme-dark", isDark);
}

export function followTheme() {
    const stored = () => apply(localStorage.getItem("shell:style") ?? "auto");
    window.addEventListener("storage", (event) => event.key === "shell:style" && stored());
    window.addEventListener("cockpit-style", (event) => apply(event.detail.style));
    dark.addEventListener("change", stored);
    stored();
}
