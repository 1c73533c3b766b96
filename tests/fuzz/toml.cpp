// SPDX-License-Identifier: Apache-2.0
// Parses configurations of container runtimes, merges them, and edits them.
#include "daemon/runtime/toml/toml.hpp"

#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/toml/toml_edit.hpp"
#include "daemon/runtime/toml/toml_writer.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>

using namespace gpuhost;

namespace {

/// Compares as texts, because NaN does not equal itself.
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
                             "an edit fails with BadContent or Refused");
    base::Json meant = file;
    auto paths = base::strings_or_empty(file, "imports");
    const bool was_there = std::find(paths.begin(), paths.end(), ours) != paths.end();
    if (!was_there)
        paths.push_back(ours);
    meant["imports"] = paths;
    fuzz::require(reads(*added, meant), "an edit changes only the list of imports");
    fuzz::require(runtime::with_import(*added, ours, "output") == *added,
                  "an existing import is not added again");
    const auto removed = runtime::without_import(*added, ours, "output");
    if (was_there)
        return;
    fuzz::require(removed.has_value(), "an added import can be removed");
    fuzz::require(reads(*removed, file) || reads(*removed, without_imports(file)),
                  "removing an added import restores the file");
}

/// Writes and reads the document. The writer may exceed limits of depth and line length, at other places than
/// the input.
void write(const base::Json& file) {
    const std::string text = runtime::to_toml(file);
    fuzz::require(!runtime::parse_toml(text, "output") || reads(text, file),
                  "a written document is read back");
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
                          "a repeated file changes no plugin");
            const auto config = runtime::containerd_config({*file}, version);
            fuzz::require(std::is_sorted(config.handlers.begin(), config.handlers.end(),
                                         [](const auto& a, const auto& b) { return a.name < b.name; }),
                          "runtimes are sorted");
        }
    (void)runtime::crio_config({*file, *file}, std::nullopt);
    (void)runtime::podman_config({*file}, std::nullopt);
    (void)runtime::docker_config(*file, {}, std::nullopt);
    return 0;
}
