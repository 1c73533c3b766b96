// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

namespace gpuhost::ctl {

using base::Json;

namespace {

std::string platforms_of(const Json& image) {
    return printable(base::join(base::strings_or_empty(image, "platforms"), " "));
}

std::string origin_of(const Json& image) {
    return text_of(image, "bundle") + ", generation " + std::to_string(number_of(image, "generation"));
}

std::string problem_lines(const Screen& screen, const Json& document) {
    std::string text;
    for (const std::string& problem : base::strings_or_empty(document, "problems"))
        text += fit(screen, screen.paint(Style::Bad, printable(problem)) + "\n");
    return text;
}

} // namespace

std::string render_images(const Screen& screen, const Json& list) {
    Table table(
        {{"IMAGE"}, {"PLATFORMS", Table::Align::Left, 1}, {"BUNDLE", Table::Align::Left, 2}, {"DIGEST"}});
    for (const Json& image : list_of(list, "images"))
        table.add({text_of(image, "name"), platforms_of(image), text_of(image, "bundle"),
                   digest_of(screen, text_of(image, "digest"))});
    return (table.empty() ? "" : table.render(screen)) + problem_lines(screen, list);
}

std::string render_image(const Screen& screen, const Json& image) {
    Facts facts;
    facts.add("Image", text_of(image, "name"));
    facts.add("Digest", text_of(image, "digest"));
    if (const std::string platforms = platforms_of(image); !platforms.empty())
        facts.add("Platforms", platforms);
    facts.add("Bundle", origin_of(image));
    const std::uint64_t missing = number_of(image, "missing");
    facts.add("Content", missing == 0
                             ? "all blobs of that bundle are in the store"
                             : screen.paint(Style::Bad, plural(missing, "blob", "blobs") +
                                                            " of that bundle missing: import it again"));
    for (const Json& claim : list_of(image, "claims"))
        if (text_of(claim, "bundle") != text_of(image, "bundle"))
            facts.add("Claimed by", origin_of(claim) + ": " + text_of(claim, "digest"));
    return facts.render(screen);
}

std::string render_placement(const Screen& screen, const Json& placement) {
    Table table({{"IMAGE"},
                 {"STATE"},
                 {"RUNTIME", Table::Align::Left, 2},
                 {"DIGEST", Table::Align::Left, 1},
                 {"WHY", Table::Align::Left, 0, true}});
    for (const Json& image : list_of(placement, "images")) {
        const std::string state = text_of(image, "state");
        const Style style = state == "failed" ? Style::Bad : state == "wanted" ? Style::Warn : Style::Plain;
        table.add({text_of(image, "name"),
                   {state, style},
                   text_of(image, "runtime"),
                   digest_of(screen, text_of(image, "digest")),
                   text_of(image, "why")});
    }
    std::string text = (table.empty() ? "" : table.render(screen)) + problem_lines(screen, placement);
    for (const std::string& pin : base::strings_or_empty(placement, "absent"))
        text += fit(screen, screen.paint(Style::Warn, printable(pin)) + ": not in any bundle yet\n");
    if (list_of(placement, "runtimes").empty())
        text += "No container runtime found on this host.\n";
    else if (text.empty())
        text = "Nothing is pinned.\n";
    return text;
}

} // namespace gpuhost::ctl
