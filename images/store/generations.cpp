// SPDX-License-Identifier: Apache-2.0
#include "images/store/generations.hpp"

#include "daemon/base/json.hpp"
#include "images/bundle/plain_file.hpp"

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::string_view generations_file = "/var/lib/gpuhost/catalogue/.generations";
constexpr std::size_t generations_limit = 4U << 20U;

/// Returns the content of the file, {name: generation}; an empty object if there is no file.
Result<Json> read_generations(const base::Root& root) {
    const auto text = read_plain_file(root, generations_file, generations_limit);
    if (!text && text.error().code == Errc::NotFound)
        return Json::object();
    if (!text)
        return base::fail(text.error());
    auto generations = base::parse_json(*text, generations_file);
    if (!generations || !generations->is_object())
        return base::fail(
            Errc::BadContent,
            std::string(generations_file) +
                " is damaged: it prevents imports of older generations of removed bundles",
            "Set MinimumGeneration= in section [Images] for removed bundles, and remove the file.");
    return *std::move(generations);
}

} // namespace

Result<std::uint64_t> removed_generation(const base::Root& root, const std::string& name) {
    GPUHOST_TRY(all, removed_generations(root));
    const auto found = all.find(name);
    return found == all.end() ? 0 : found->second;
}

Result<std::map<std::string, std::uint64_t>> removed_generations(const base::Root& root) {
    GPUHOST_TRY(generations, read_generations(root));
    std::map<std::string, std::uint64_t> all;
    for (const auto& [name, value] : generations.items())
        all[name] = static_cast<std::uint64_t>(base::int_or(generations, name, 0));
    return all;
}

Result<void> remember_generation(const base::Root& root, const std::string& name, std::uint64_t generation) {
    GPUHOST_TRY(all,
                read_generations(root)); // a damaged file is not overwritten
    all[name] = generation;
    return root.write_atomic(generations_file, base::dump(all));
}

} // namespace gpuhost::images
