// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/toolkit/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

/// Returns whose file config.toml is: gpuhost's, or that of another program.
std::string config_words(const Screen& screen, const std::string& state) {
    if (state == "other")
        return screen.paint(Style::Warn, "config.toml of another program takes precedence");
    if (state == "ours")
        return "config.toml from gpuhost";
    return screen.paint(Style::Warn,
                        state == "none" ? "no config.toml" : "config.toml differs from the settings");
}

std::string used_line(const Screen& screen, const Json& toolkit) {
    const std::string selected = text_of(toolkit, "selected");
    const std::string source = text_of(base::member(toolkit, "wanted"), "source");
    if (!selected.empty())
        return screen.paint(Style::Bold, selected) + " selected, mode " + text_of(toolkit, "mode") + "; " +
               config_words(screen, text_of(base::member(toolkit, "config"), "state"));
    if (source == "store")
        return "none selected, " + text_of(base::member(toolkit, "wanted"), "version") + " is in the store";
    if (source == "preinstalled")
        return "the host's own, in " + text_of(toolkit, "preinstalled");
    return "none; containers get GPUs by CDI";
}

} // namespace

std::string render_toolkits(const Screen& screen, const Json& list) {
    Table table({{"VERSION"}, {"FILES", Table::Align::Right}, {"SIZE", Table::Align::Right}, {"STATE"}});
    for (const Json& set : list_of(list, "toolkits")) {
        const bool is_selected = base::bool_or(set, "selected", false);
        table.add({text_of(set, "version"),
                   std::to_string(number_of(set, "files")),
                   human_bytes(number_of(set, "bytes")),
                   {is_selected ? "selected" : "available", is_selected ? Style::Good : Style::Plain}});
    }
    std::string out = table.empty() ? "" : table.render(screen);
    for (const std::string& problem : base::strings_or_empty(list, "problems"))
        out += fit(screen, screen.paint(Style::Bad, printable(problem)) + "\n");
    return out;
}

std::string render_toolkit(const Screen& screen, const Json& document) {
    Facts facts;
    const std::string selected = text_of(document, "selected");
    const std::string wanted = text_of(document, "wanted");
    facts.add("Toolkit", screen.paint(Style::Bold, selected.empty() ? "none selected" : selected));
    if (const std::string problem = text_of(document, "problem"); !problem.empty())
        facts.add("Problem", screen.paint(Style::Bad, problem));
    else if (wanted != selected)
        facts.add("Wanted", wanted.empty() ? "none of gpuhost's" : wanted);
    if (!selected.empty())
        facts.add("", text_of(document, "path"));
    for (const std::string& package : base::strings_or_empty(document, "packages"))
        facts.add("Package", printable(package));
    const std::string directory = text_of(document, "directory");
    facts.add("Programs",
              directory.empty() ? "none for container runtimes" : "for container runtimes in " + directory);
    const auto programs = base::strings_or_empty(document, "programs");
    if (!programs.empty())
        facts.add("", printable(base::join(programs, " ")));
    facts.add("Mode", text_of(document, "mode"));
    const Json& config = base::member(document, "config");
    if (!wanted.empty() || text_of(config, "state") != "none")
        facts.add("Config", text_of(config, "path") + ": " + config_words(screen, text_of(config, "state")));
    for (const std::string& difference : base::strings_or_empty(config, "differences"))
        facts.add("", printable(difference));
    for (const std::string& problem : base::strings_or_empty(config, "problems"))
        facts.add("Problem", screen.paint(Style::Bad, printable(problem)));
    return facts.render(screen);
}

void add_toolkit_lines(Facts& facts, const Screen& screen, const Json& toolkit) {
    facts.add("Toolkit", used_line(screen, toolkit));
    for (const std::string& problem : base::strings_or_empty(base::member(toolkit, "config"), "problems"))
        facts.add("", screen.paint(Style::Warn, printable(problem)));
    for (const std::string& problem : base::strings_or_empty(base::member(toolkit, "store"), "problems"))
        facts.add("", screen.paint(Style::Bad, printable(problem)));
}

} // namespace gpuhost::ctl
