// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/set.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using content::TreeFile;

namespace {

constexpr std::string_view programs_directory = "usr/bin/";

Result<ToolkitManifest> from_json(const Json& value) {
    GPUHOST_TRY(version, base::get_string(value, "version"));
    if (!base::is_toolkit_version(version))
        return base::fail(Errc::BadContent, "'" + version + "' is not a version of the toolkit");
    GPUHOST_TRY(packages, base::get_strings(value, "packages"));
    GPUHOST_TRY(files, content::files_from_json(base::member(value, "files")));
    const std::string program = std::string(programs_directory) + std::string(toolkit_program);
    if (std::none_of(files.begin(), files.end(), [&](const TreeFile& file) { return file.path == program; }))
        return base::fail(Errc::BadContent, "has no " + program);
    return ToolkitManifest{std::move(version), std::move(packages), std::move(files)};
}

} // namespace

std::string encode(const ToolkitManifest& manifest) {
    return base::dump({{"format", 1},
                       {"kind", "toolkit"},
                       {"version", manifest.version},
                       {"packages", manifest.packages},
                       {"files", content::to_json(manifest.files)}});
}

Result<ToolkitManifest> decode_toolkit_manifest(std::string_view text, std::string_view what) {
    GPUHOST_TRY(value, base::parse_json(text, what));
    auto manifest = from_json(value);
    if (!manifest)
        return base::fail(manifest.error().context(what));
    if (encode(*manifest) != text)
        return base::fail(Errc::BadContent, std::string(what) + ": is not in canonical form");
    return manifest;
}

std::vector<std::string> ToolkitSet::programs() const {
    std::vector<std::string> names;
    for (const TreeFile& file : manifest.files)
        if (base::starts_with(file.path, programs_directory))
            names.push_back(file.path.substr(programs_directory.size()));
    return names;
}

std::string ToolkitSet::libraries() const {
    for (const TreeFile& file : manifest.files)
        if (file.path.find("/libnvidia-container.so") != std::string::npos)
            return file.path.substr(0, file.path.rfind('/'));
    return {};
}

Result<ToolkitSet> read_toolkit(const base::Root& root, const std::string& path) {
    GPUHOST_TRY(set, content::open_set(root, path));
    GPUHOST_TRY(manifest, decode_toolkit_manifest(set.manifest, set.file()));
    return ToolkitSet{std::move(manifest), std::move(set.digest), path, set.published_us};
}

} // namespace gpuhost::runtime
