// SPDX-License-Identifier: Apache-2.0
// Configurations of container runtimes, what they come to, and edits of them.
#include "daemon/runtime/toml/toml.hpp"

#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/toml/toml_edit.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

namespace {

/// As texts, in which "nan" is itself.
bool reads(std::string_view text, const base::Json& as) {
    const auto read = runtime::parse_toml(text, "output");
    return read && base::dump(*read) == base::dump(as);
}

base::Json without_imports(base::Json file) {
    file.erase("imports");
    return file;
}

void edit(std::string_view text, const base::Json& file) {
    const std::string ours = "/ours.toml";
    const auto added = runtime::with_import(text, ours, "input");
    if (!added)
        return fuzz::require(added.error().code == base::Errc::BadContent ||
                                 added.error().code == base::Errc::Refused,
                             "an edit that can't be says why");
    base::Json meant = file;
    auto paths = base::strings_or_empty(file, "imports");
    const bool was_there = std::find(paths.begin(), paths.end(), ours) != paths.end();
    if (!was_there)
        paths.push_back(ours);
    meant["imports"] = paths;
    fuzz::require(reads(*added, meant), "an edit changes the list and nothing else");
    fuzz::require(runtime::with_import(*added, ours, "output") == *added, "what is there is not added");
    const auto removed = runtime::without_import(*added, ours, "output");
    fuzz::require(removed.has_value(), "what was added can be removed");
    fuzz::require(was_there || reads(*removed, file) || reads(*removed, without_imports(file)),
                  "and then all is as it was");
}

/// Depth and the length of a line have bounds, in other places than those of the input.
void write(const base::Json& file) {
    const std::string text = runtime::to_toml(file);
    fuzz::require(!runtime::parse_toml(text, "output") || reads(text, file), "what is written is read back");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = runtime::parse_toml(fuzz::text_of(data, size), "input");
    if (!file)
        return 0;
    fuzz::require(file->is_object(), "a document is a table");
    edit(fuzz::text_of(data, size), *file);
    write(*file);
    for (const unsigned major : {1U, 2U})
        for (const unsigned minor : {0U, 6U, 7U}) {
            const runtime::RuntimeVersion version{major, minor, "x"};
            const auto once = runtime::merge_containerd({*file}, version);
            const auto twice = runtime::merge_containerd({*file, *file}, version);
            fuzz::require(base::member(once.document, "plugins") == base::member(twice.document, "plugins"),
                          "a file that comes again changes no plugin");
            const auto config = runtime::containerd_config({*file}, version);
            fuzz::require(std::is_sorted(config.handlers.begin(), config.handlers.end(),
                                         [](const auto& a, const auto& b) { return a.name < b.name; }),
                          "runtimes are in order");
        }
    (void)runtime::crio_config({*file, *file}, std::nullopt);
    (void)runtime::podman_config({*file}, std::nullopt);
    (void)runtime::docker_config(*file, {}, std::nullopt);
    return 0;
}
