// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/view.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "images/bundle/host_facts.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::ctl {

using base::Json;

namespace {

Table::Cell signer_of(const Json& bundle) {
    if (base::bool_or(bundle, "unsigned", false))
        return {"unsigned", Style::Bad};
    return {text_of(base::member(bundle, "signer"), "subject")};
}

/// Returns the member `key` of each element of the list `list`, in one line: "debian-12 ubuntu-24.04".
std::string names_of(const Json& bundle, std::string_view list, std::string_view key) {
    std::vector<std::string> names;
    for (const Json& tree : list_of(bundle, list))
        names.push_back(text_of(tree, key));
    return base::join(names, " ");
}

/// Shows pinned images, and the images that are missing from a runtime.
void add_placement_lines(Facts& facts, const Screen& screen, const Json& placement) {
    std::size_t good = 0;
    for (const Json& image : list_of(placement, "images"))
        if (text_of(image, "state") != "failed")
            ++good;
        else
            facts.add("Problem",
                      screen.paint(Style::Bad, text_of(image, "name") + " is not in " +
                                                   text_of(image, "runtime") + ": " + text_of(image, "why")));
    for (const std::string& pin : base::strings_or_empty(placement, "absent"))
        facts.add("Absent",
                  screen.paint(Style::Warn, printable(pin)) + ", which is pinned: not in any bundle yet");
    for (const std::string& problem : base::strings_or_empty(placement, "problems"))
        facts.add("Problem", screen.paint(Style::Bad, printable(problem)));
    if (good > 0)
        facts.add("Pinned", plural(good, "image", "images") + " in " +
                                plural(list_of(placement, "runtimes").size(), "runtime", "runtimes"));
}

/// Returns a sentence about damaged blobs. `peers`: blobs can be fetched from peers.
std::string damage_line(const Json& scrub, bool peers) {
    std::set<std::string> bundles;
    bool stays = false;
    for (const Json& damage : list_of(scrub, "damaged"))
        if (base::bool_or(damage, "removed", true))
            for (const std::string& name : base::strings_or_empty(damage, "bundles"))
                bundles.insert(printable(name));
        else
            stays = true;
    const std::vector<std::string> names(bundles.begin(), bundles.end());
    return plural(list_of(scrub, "damaged").size() + number_of(scrub, "more"), "blob", "blobs") +
           " found damaged on the disk" +
           (names.empty() ? std::string()
            : peers       ? ": gpuhostctl bundle fetch " + base::join(names, " ") + ", or import again"
                          : ": import again " + base::join(names, ", ")) +
           (stays ? "; some can't be read and were not removed: see journalctl -k" : "");
}

} // namespace

std::string render_bundles(const Screen& screen, const Json& list) {
    Table table({{"BUNDLE"},
                 {"GENERATION", Table::Align::Right},
                 {"IMAGES", Table::Align::Right, 3},
                 {"PACKAGES", Table::Align::Left, 2},
                 {"FILES", Table::Align::Left, 1},
                 {"SIZE", Table::Align::Right},
                 {"SIGNER"}});
    for (const Json& bundle : list_of(list, "bundles")) {
        const std::string problem = text_of(bundle, "problem");
        if (!problem.empty())
            table.add({text_of(bundle, "name"), "", "", "", "", "", {problem, Style::Bad}});
        else
            table.add({text_of(bundle, "name"), std::to_string(number_of(bundle, "generation")),
                       std::to_string(number_of(bundle, "images")),
                       names_of(bundle, "packages", "distribution"), names_of(bundle, "files", "name"),
                       human_bytes(number_of(bundle, "bytes")), signer_of(bundle)});
    }
    return table.empty() ? "" : table.render(screen);
}

namespace {

/// Returns "driver packages 550.163.01" or "driver modules 550.163.01 for 6.1.0-50-amd64 on linux/amd64".
std::string described(const Json& artifact) {
    std::string kind = text_of(artifact, "kind");
    std::replace(kind.begin(), kind.end(), '-', ' ');
    const std::string kernel = text_of(artifact, "kernel");
    const std::string flavour = text_of(artifact, "flavour");
    std::set<std::string> platforms;
    for (const std::string& word : base::strings_or_empty(artifact, "hosts"))
        if (const auto host = images::parse_host_word(word); host && !host->platform.empty())
            platforms.insert(printable(host->platform));
    return kind + " " + text_of(artifact, "name") + (kernel.empty() ? "" : " for " + kernel) +
           (flavour.empty() ? "" : ", " + flavour) +
           (platforms.empty() ? "" : " on " + base::join({platforms.begin(), platforms.end()}, ", "));
}

std::string size_of(const Json& item) {
    return item.contains("bytes") ? human_bytes(number_of(item, "bytes")) : "";
}

/// Returns what this host would do with the item.
std::string share_of(const Json& item) {
    if (std::string problem = text_of(item, "problem"); !problem.empty())
        return problem;
    if (!base::bool_or(item, "selected", false))
        return "not needed";
    if (!item.contains("missing_bytes"))
        return "needs it";
    const std::uint64_t missing = number_of(item, "missing_bytes");
    return missing == 0 ? "has it" : "lacks " + human_bytes(missing);
}

void add_host_lines(Facts& facts, const Json& host) {
    std::string takes = plural(number_of(host, "blobs"), "blob", "blobs") + ", " + size_of(host);
    if (host.contains("missing_bytes"))
        takes += ", of which it lacks " + human_bytes(number_of(host, "missing_bytes"));
    facts.add("This host", "needs " + takes);
    if (const std::string why = text_of(host, "problem"); !why.empty())
        facts.add("Problem", "the content of its store is not known: " + why);
    if (const std::string why = text_of(host, "refused"); !why.empty())
        facts.add("Problem", "it would refuse this bundle: " + why);
    for (const Json& blob : list_of(host, "missing"))
        facts.add("Missing", text_of(blob, "digest") + ", " + human_bytes(number_of(blob, "size")) +
                                 ", which the bundle leaves out");
}

} // namespace

std::string render_bundle(const Screen& screen, const Json& bundle) {
    Facts facts;
    facts.add("Bundle",
              text_of(bundle, "name") + ", generation " + std::to_string(number_of(bundle, "generation")));
    facts.add("Signer", text_of(base::member(bundle, "signer"), "subject"));
    facts.add("Content", plural(number_of(bundle, "blobs"), "blob", "blobs") + ", " +
                             human_bytes(number_of(bundle, "bytes")));
    if (const std::uint64_t absent = number_of(bundle, "absent"); absent > 0)
        facts.add("Delta", "leaves out " + plural(absent, "blob", "blobs") + " that hosts must have");
    add_host_lines(facts, base::member(bundle, "host"));
    Table artifacts({{"CONTENT"}, {"SIZE", Table::Align::Right, 1}, {"THIS HOST"}});
    for (const Json& artifact : list_of(bundle, "artifacts"))
        artifacts.add({described(artifact), size_of(artifact), share_of(artifact)});
    Table table({{"IMAGE"},
                 {"PLATFORMS", Table::Align::Left, 2},
                 {"SIZE", Table::Align::Right, 3},
                 {"THIS HOST"},
                 {"DIGEST", Table::Align::Left, 1}});
    for (const Json& image : list_of(bundle, "images"))
        table.add({text_of(image, "name"),
                   printable(base::join(base::strings_or_empty(image, "platforms"), " ")), size_of(image),
                   share_of(image), digest_of(screen, text_of(image, "digest"))});
    return facts.render(screen) + (artifacts.empty() ? "" : "\n" + artifacts.render(screen)) +
           (table.empty() ? "" : "\n" + table.render(screen));
}

void add_image_lines(Facts& facts, const Screen& screen, const Json& images) {
    const Json& bundles = list_of(images, "bundles");
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    for (const Json& bundle : bundles) {
        bytes += number_of(bundle, "bytes");
        count += number_of(bundle, "images");
        if (const std::string problem = text_of(bundle, "problem"); !problem.empty())
            facts.add("Problem", screen.paint(Style::Bad, problem));
    }
    for (const char* what : {"mirrors", "packages"})
        for (const std::string& why : base::strings_or_empty(base::member(images, what), "left"))
            facts.add("Problem", screen.paint(Style::Warn, printable(why)));
    add_placement_lines(facts, screen, base::member(images, "placement"));
    const bool has_peers = !list_of(images, "peers").empty() || !list_of(images, "peer_domains").empty();
    if (const Json& scrub = base::member(images, "scrub"); !list_of(scrub, "damaged").empty())
        facts.add("Problem", screen.paint(Style::Bad, damage_line(scrub, has_peers)));
    if (!bundles.empty())
        facts.add("Bundles", std::to_string(bundles.size()) + ", with " + plural(count, "image", "images") +
                                 ", " + human_bytes(bytes));
    if (const auto here = base::strings_or_empty(base::member(images, "packages"), "bundles"); !here.empty())
        facts.add("Packages", "of " + printable(base::join(here, ", ")));
}

} // namespace gpuhost::ctl
