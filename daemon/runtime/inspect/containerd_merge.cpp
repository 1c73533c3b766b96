// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/containerd_merge.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Json;
using base::member;

namespace {

constexpr const char* cri_1 = "cri";
constexpr const char* cri_2 = "io.containerd.grpc.v1.cri";
constexpr const char* cri_3 = "io.containerd.cri.v1.runtime";
constexpr const char* cri_3_images = "io.containerd.cri.v1.images";

/// How containerd merges several files. PerPlugin: a later file's table of a plugin replaces earlier tables
/// of the plugin. Deep: tables are merged key by key. DeepMigrated: like Deep, after a migration of each
/// file.
enum class Age { PerPlugin, Deep, DeepMigrated };

Age age_of(const std::vector<Json>& files, const std::optional<RuntimeVersion>& version) {
    if (version)
        return !version->is_at_least(2, 0)  ? Age::PerPlugin
               : version->is_at_least(2, 3) ? Age::DeepMigrated
                                            : Age::Deep;
    return std::any_of(files.begin(), files.end(), [](const Json& file) { return config_version(file) > 2; })
               ? Age::DeepMigrated
               : Age::PerPlugin;
}

unsigned newest_version(const RuntimeVersion& version) {
    return !version.is_at_least(2, 0) ? 2 : version.is_at_least(2, 3) ? 4 : 3;
}

/// Merges tables key by key. Other values are replaced, even by false or empty ones.
void merge_deep(Json& to, const Json& from) {
    for (const auto& [key, value] : from.items())
        if (Json& there = to[key]; there.is_object() && value.is_object())
            merge_deep(there, value);
        else
            there = value;
}

void add_missing(Json& to, const Json& from) {
    if (!to.is_object())
        to = Json::object();
    for (const auto& [key, value] : from.items())
        if (!to.contains(key))
            to[key] = value;
}

/// Migrates the image settings like migrateConfig() in plugins/cri/images, limited to the keys that gpuhost
/// uses.
void migrate_images(Json& to, const Json& old) {
    if (!to.is_object())
        to = Json::object();
    const auto copy = [&](const Json& from, std::initializer_list<const char*> keys) {
        for (const char* key : keys)
            if (const Json& value = member(from, key); !value.is_null())
                to[key] = value;
    };
    copy(old, {"registry", "max_concurrent_downloads", "image_pull_with_sync_fs"});
    if (const Json& containerd = member(old, "containerd"); member(containerd, "runtimes").is_object())
        copy(containerd, {"disable_snapshot_annotations", "discard_unpacked_layers"});
}

/// Migrates a file to the newest configuration version like containerd, limited to the CRI's runtimes and
/// images.
void migrate(Json& file) {
    Json& plugins = file["plugins"];
    if (!plugins.is_object())
        plugins = Json::object();
    if (config_version(file) < 2 && plugins.contains(cri_1)) {
        plugins[cri_2] = std::move(plugins[cri_1]);
        plugins.erase(cri_1);
    }
    const Json old = member(plugins, cri_2);
    if (!old.is_object())
        return;
    Json& made = plugins[cri_3];
    add_missing(made, old);
    if (const Json& containerd = member(old, "containerd"); containerd.is_object())
        add_missing(made["containerd"], containerd);
    migrate_images(plugins[cri_3_images], old);
}

/// Merges a later file into `to`: top-level lists are joined, `plugins` is merged according to `age`, and
/// other values are replaced.
void merge_file(Json& to, const Json& from, Age age) {
    for (const auto& [key, value] : from.items()) {
        Json& there = to[key];
        if (key == "plugins" && value.is_object()) {
            if (!there.is_object())
                there = Json::object();
            if (age == Age::PerPlugin)
                there.update(value);
            else
                merge_deep(there, value);
        } else if (value.is_array() && there.is_array()) {
            there.insert(there.end(), value.begin(), value.end());
        } else if (key != "version") {
            there = value;
        }
    }
}

} // namespace

unsigned config_version(const Json& file) {
    const std::int64_t version = base::int_or(file, "version", 1);
    return version < 1 || version > 1000 ? 1 : static_cast<unsigned>(version);
}

std::string cri_plugin(unsigned config_version) {
    return config_version < 2 ? cri_1 : config_version == 2 ? cri_2 : cri_3;
}

std::string cri_images_plugin(unsigned config_version) {
    return config_version < 3 ? cri_plugin(config_version) : cri_3_images;
}

ContainerdConfig merge_containerd(const std::vector<Json>& files,
                                  const std::optional<RuntimeVersion>& version) {
    const Age age = age_of(files, version);
    ContainerdConfig merged;
    for (const Json& original : files) {
        Json file = original;
        const unsigned said = config_version(file);
        if (version && said > newest_version(*version))
            merged.problems.push_back("version = " + std::to_string(said) +
                                      " is for a newer containerd: " + version->text + " misreads it");
        // Only containerd 2.3 compares the versions of files. It exits if an imported file has a higher
        // version than the importing file.
        if (version && version->major == 2 && version->minor == 3 && said > config_version(files.front()))
            merged.problems.push_back(
                "a file with version = " + std::to_string(said) + " is imported by a file with version = " +
                std::to_string(config_version(files.front())) + ": containerd 2.3 does not start");
        if (age == Age::DeepMigrated && said < 4)
            migrate(file);
        if (age == Age::DeepMigrated || file.contains("version"))
            merged.version = age == Age::DeepMigrated ? 4 : said;
        merge_file(merged.document, file, age);
    }
    if (age == Age::Deep && merged.version < 3) {
        merged.document["version"] = merged.version;
        // containerd 2.0 to 2.2 ignore the CRI's tables in a file of version 1.
        if (Json& plugins = merged.document["plugins"]; merged.version < 2 && plugins.is_object()) {
            plugins.erase(cri_1);
            plugins.erase(cri_2);
        }
        migrate(merged.document);
    }
    if (age != Age::PerPlugin)
        merged.version = newest_version(version.value_or(RuntimeVersion{2, 3, {}}));
    else
        merged.version = std::min(merged.version, 2U); // containerd 1.6 treats a newer version as 2
    merged.document["version"] = merged.version;
    return merged;
}

} // namespace gpuhost::runtime
