// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/run_manifest.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t header_lines = 8;
constexpr std::size_t most_files = 20'000; // real ones have about 1,200

constexpr std::array<std::string_view, 13> libraries{"CUDA_LIB",
                                                     "NVCUVID_LIB",
                                                     "ENCODEAPI_LIB",
                                                     "UTILITY_LIB",
                                                     "INTERNAL_UTILITY_LIB",
                                                     "OPENCL_LIB",
                                                     "OPENGL_LIB",
                                                     "TLS_LIB",
                                                     "CUDA_SYMLINK",
                                                     "NVCUVID_LIB_SYMLINK",
                                                     "ENCODEAPI_LIB_SYMLINK",
                                                     "UTILITY_LIB_SYMLINK",
                                                     "OPENGL_SYMLINK"};
constexpr std::array<std::string_view, 2> programs{"UTILITY_BINARY", "NVIDIA_MODPROBE"};
constexpr std::array<std::string_view, 2> programs_of_x11{"nvidia-settings", "nvidia-xconfig"};

tl::unexpected<base::Error> bad(std::string_view what, std::size_t line, const std::string& reason) {
    return base::fail(Errc::BadContent,
                      std::string(what) + ": '.manifest' line " + std::to_string(line) + ": " + reason,
                      "Fetch the file again: it is damaged or not an NVIDIA driver.");
}

bool is_type(std::string_view word) {
    return !word.empty() && word.size() <= 64 && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

std::string_view base_name(std::string_view name) {
    return name.substr(name.rfind('/') + 1); // the whole name if there is no slash
}

} // namespace

Result<RunManifest> parse_run_manifest(std::string_view text, std::string_view what) {
    RunManifest manifest;
    std::size_t count = 0;
    const std::vector<std::string> lines = base::split(text, '\n');
    if (lines.size() < header_lines)
        return bad(what, lines.size(), "it ends before its files");
    manifest.version = std::string(base::trim(lines[1]));
    if (!base::is_driver_version(manifest.version))
        return bad(what, 2, "'" + manifest.version.substr(0, 64) + "' is not a driver version");
    for (std::size_t i = header_lines; i < lines.size() && !lines[i].empty(); ++i) {
        const std::vector<std::string> words = base::split_words(lines[i]);
        if (words.size() < 3 || safe_relative_path(words[0]) != words[0] || !base::parse_uint(words[1], 8) ||
            !is_type(words[2]))
            return bad(what, i + 1, "the name, mode or type of a file is missing or not valid");
        if (++count > most_files)
            return bad(what, i + 1, "more than " + std::to_string(most_files) + " files");
        RunFile file;
        file.type = words[2];
        file.compat32 = std::find(words.begin() + 3, words.end(), "COMPAT32") != words.end();
        if (base::ends_with(file.type, "_SYMLINK")) {
            if (words.size() < 4)
                return bad(what, i + 1, "a link without a target");
            file.target = words.back();
        }
        manifest.files[words[0]].push_back(std::move(file));
    }
    return manifest;
}

std::string installed_path(std::string_view name, const RunFile& file, std::string_view version) {
    const std::string base(base_name(name));
    if (file.compat32)
        return {};
    if (base::contains(libraries, file.type))
        return "usr/lib64/" + base;
    if (base::contains(programs, file.type) && !base::contains(programs_of_x11, base))
        return "usr/bin/" + base;
    if (file.type == "FIRMWARE")
        return "usr/lib/firmware/nvidia/" + std::string(version) + "/" + base;
    if (file.type == "KERNEL_MODULE_SRC" || file.type == "DKMS_CONF")
        for (const auto& [below, directory] :
             {std::pair{"kernel/", "nvidia-"}, {"kernel-open/", "nvidia-open-"}})
            if (base::starts_with(name, below))
                return "usr/src/" + std::string(directory) + std::string(version) + "/" +
                       std::string(name.substr(std::string_view(below).size()));
    if (name == "supported-gpus/supported-gpus.json")
        return "usr/share/nvidia/supported-gpus.json";
    if (name == "LICENSE")
        return "usr/share/licenses/nvidia-driver/LICENSE";
    return {};
}

} // namespace gpuhost::content
