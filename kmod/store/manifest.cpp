// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/manifest.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using content::TreeFile;

namespace {

constexpr std::array<std::pair<SetKind, std::string_view>, 3> kinds{
    {{SetKind::Userland, "userland"}, {SetKind::Modules, "modules"}, {SetKind::Source, "source"}}};

Json module_json(const ModuleFile& module) {
    Json value{{"name", module.name},         {"file", module.file},
               {"version", module.version},   {"srcversion", module.srcversion},
               {"vermagic", module.vermagic}, {"depends", module.depends}};
    if (!module.signer.empty())
        value["signer"] = module.signer;
    return value;
}

Result<ModuleFile> module_from_json(const Json& value, const std::vector<TreeFile>& files) {
    ModuleFile module;
    GPUHOST_TRY(name, base::get_string(value, "name"));
    GPUHOST_TRY(file, base::get_string(value, "file"));
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == file; });
    if (found == files.end() || file.find('/') != std::string::npos || !found->target.empty())
        return base::fail(Errc::BadContent, "module '" + name + "' has no file '" + file + "'");
    module.name = std::move(name);
    module.file = std::move(file);
    module.version = base::string_or(value, "version", {});
    module.srcversion = base::string_or(value, "srcversion", {});
    module.vermagic = base::string_or(value, "vermagic", {});
    module.depends = base::strings_or_empty(value, "depends");
    module.signer = base::string_or(value, "signer", {});
    module.size = found->size;
    module.sha256 = found->sha256;
    return module;
}

Result<Manifest> from_json(const Json& value) {
    Manifest manifest;
    GPUHOST_TRY(kind, base::get_string(value, "kind"));
    GPUHOST_TRY(version, base::get_string(value, "version"));
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.second == kind; });
    if (known == kinds.end() || !base::is_driver_version(version))
        return base::fail(Errc::BadContent, "kind or version is not supported by this gpuhostd");
    manifest.kind = known->first;
    manifest.version = std::move(version);
    manifest.kernel = base::string_or(value, "kernel", {});
    manifest.flavour = base::string_or(value, "flavour", {});
    manifest.directory = base::string_or(value, "directory", {});
    manifest.closed_gpus = base::strings_or_empty(value, "closed_gpus");
    if (manifest.kind == SetKind::Modules && !base::is_kernel_release(manifest.kernel))
        return base::fail(Errc::BadContent, "'" + manifest.kernel + "' is not a kernel release");
    if (manifest.kind != SetKind::Userland && manifest.flavour != "open" && manifest.flavour != "proprietary")
        return base::fail(Errc::BadContent, "'" + manifest.flavour + "' is not a flavour");
    if (manifest.kind != SetKind::Userland && !manifest.closed_gpus.empty())
        return base::fail(Errc::BadContent, "a list of GPUs is allowed only for userland");
    GPUHOST_TRY(files, content::files_from_json(base::member(value, "files")));
    manifest.files = std::move(files);
    for (const Json& item : base::member(value, "modules")) {
        GPUHOST_TRY(module, module_from_json(item, manifest.files));
        manifest.modules.push_back(std::move(module));
    }
    if (manifest.files.empty() || (manifest.kind == SetKind::Modules) != !manifest.modules.empty())
        return base::fail(Errc::BadContent, "no files, or its modules do not match its kind");
    return manifest;
}

} // namespace

std::string_view name(SetKind kind) noexcept {
    for (const auto& [known, text] : kinds)
        if (known == kind)
            return text;
    return {};
}

std::string encode(const Manifest& manifest) {
    Json value{{"format", 1}, {"kind", name(manifest.kind)}, {"version", manifest.version}};
    if (manifest.kind == SetKind::Modules)
        value["kernel"] = manifest.kernel;
    if (manifest.kind != SetKind::Userland)
        value["flavour"] = manifest.flavour;
    if (manifest.kind == SetKind::Source)
        value["directory"] = manifest.directory;
    if (!manifest.closed_gpus.empty())
        value["closed_gpus"] = manifest.closed_gpus;
    value["files"] = content::to_json(manifest.files);
    if (manifest.kind == SetKind::Modules) {
        Json& modules = value["modules"] = Json::array();
        for (const ModuleFile& module : manifest.modules)
            modules.push_back(module_json(module));
    }
    return base::dump(value);
}

Result<Manifest> decode_manifest(std::string_view text, std::string_view what) {
    GPUHOST_TRY(value, base::parse_json(text, what));
    auto manifest = from_json(value);
    if (!manifest)
        return base::fail(manifest.error().context(what));
    if (encode(*manifest) != text)
        return base::fail(Errc::BadContent, std::string(what) + ": is not in canonical form");
    return manifest;
}

std::string set_place(const Manifest& manifest) {
    std::string place = manifest.version + "/" + std::string(name(manifest.kind));
    if (manifest.kind == SetKind::Modules)
        place += "/" + manifest.kernel + "-" + manifest.flavour;
    if (manifest.kind == SetKind::Source)
        place += "/" + manifest.flavour;
    return place;
}

Result<void> finish_set(content::SetWriter& writer, Manifest manifest) {
    return writer.finish([&](const std::vector<TreeFile>& files) {
        manifest.files = files;
        return encode(manifest);
    });
}

Result<SetOnDisk> read_set_at(const base::Root& root, const std::string& path) {
    GPUHOST_TRY(set, content::open_set(root, path));
    GPUHOST_TRY(manifest, decode_manifest(set.manifest, set.file()));
    return SetOnDisk{std::move(set.directory), std::move(manifest), std::move(set.digest), set.published_us};
}

} // namespace gpuhost::kmod
