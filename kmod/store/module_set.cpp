// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/module_set.hpp"

#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/module_signature.hpp"
#include "kmod/module/info.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using content::SetWriter;

namespace {

// Bytes; nvidia.ko with debug information has 185 MB.
constexpr std::uint64_t module_limit = std::uint64_t{1} << 30U;
// The directory of the set until all modules are parsed. Its final name depends on their kernel and flavour.
constexpr const char* incoming = "/modules/incoming";

struct Parsed {
    ModuleInfo info;
    std::string file;
    std::string given_name;
    std::string signer;
};

/// Returns the file name of a module in the set: "nvidia_drm" → "nvidia-drm.ko". A name that a distribution
/// changed is not kept, because libkmod derives the module's name from the file's.
std::string file_name(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name + ".ko";
}

bool is_module_identifier(std::string_view name) {
    return !name.empty() && name.size() < 56 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

/// Returns the signer's name in the module's signature, for messages. Does not verify the signature; the
/// preflight of a swap and the kernel do.
std::string signer_of(std::string_view image, const std::string& what) {
    const auto signature = content::read_module_signature(image, what);
    if (!signature || !*signature)
        return {};
    const content::ModuleSigner& signer = (*signature)->signer;
    return !signer.name.empty() ? signer.name : !signer.issuer.empty() ? signer.issuer : signer.key_id;
}

Result<Parsed> stage_one(const base::Root& staging, SetWriter& writer, const ModuleInput& input,
                         std::uint64_t& space, const content::OnBytes& on_bytes) {
    const std::uint64_t most = std::min(module_limit, space);
    const content::ArchiveLimits limits{1, most, most, 256};
    GPUHOST_TRY(archive,
                content::ArchiveReader::open(input.fd, content::ArchiveFormat::Raw, input.name, limits));
    GPUHOST_TRY(entry, archive.next());
    if (!entry)
        return base::fail(Errc::BadContent, input.name + ": is empty");
    // Uses a temporary name, because the final one is determined by the file's content.
    const std::string temporary = std::string(incoming) + "/.unpacked";
    GPUHOST_CHECK(staging.remove(temporary));
    GPUHOST_TRY(fd, staging.open_file(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    GPUHOST_TRY(written, archive.copy_to(fd.get(), on_bytes));
    space -= written.size;
    GPUHOST_TRY(mapped, base::MappedFile::open(fd.get(), input.name));
    GPUHOST_TRY(info, parse_module_info(mapped.view(), input.name));
    if (!is_module_identifier(info.name))
        return base::fail(Errc::BadContent, input.name + ": invalid module name in the file");
    std::string file = file_name(info.name);
    GPUHOST_CHECK(writer.adopt(".unpacked", file, written));
    return Parsed{std::move(info), std::move(file), input.name, signer_of(mapped.view(), input.name)};
}

/// Returns the information of the module nvidia, with which check_agreement() compares the others. Fails with
/// BadContent if it is missing or has no valid version or kernel.
Result<const ModuleInfo*> reference(const std::vector<Parsed>& modules) {
    const auto found =
        std::find_if(modules.begin(), modules.end(), [](const auto& m) { return m.info.name == "nvidia"; });
    if (found == modules.end())
        return base::fail(Errc::BadContent, "nvidia.ko is not among the modules",
                          "Pass the whole directory of built modules.");
    if (!base::is_driver_version(found->info.version))
        return base::fail(Errc::BadContent, found->given_name + ": has no driver version");
    if (!base::is_kernel_release(found->info.kernel()))
        return base::fail(Errc::BadContent, found->given_name + ": no kernel release in its vermagic");
    return &found->info;
}

/// Fails with BadContent if a module is for another kernel than nvidia, or one of NVIDIA's modules has
/// another version.
Result<void> check_agreement(const std::vector<Parsed>& modules, const ModuleInfo& nvidia) {
    std::string problems;
    for (const Parsed& module : modules) {
        const bool ours = base::starts_with(module.info.name, "nvidia");
        if (ours && module.info.version != nvidia.version)
            problems += "; " + module.given_name + " is version " + module.info.version + ", nvidia.ko is " +
                        nvidia.version;
        if (module.info.kernel() != nvidia.kernel())
            problems += "; " + module.given_name + " is for kernel " + std::string(module.info.kernel()) +
                        ", nvidia.ko for " + std::string(nvidia.kernel());
    }
    if (problems.empty())
        return {};
    return base::fail(Errc::BadContent, "the modules do not match: " + problems.substr(2),
                      "Import one version for one kernel at a time.");
}

} // namespace

Result<Manifest> stage_modules(const base::Root& staging, const std::vector<ModuleInput>& inputs,
                               std::uint64_t space, const content::OnBytes& on_bytes) {
    GPUHOST_TRY(writer, SetWriter::create(staging, incoming));
    std::vector<Parsed> modules;
    for (const ModuleInput& input : inputs) {
        GPUHOST_TRY(module, stage_one(staging, writer, input, space, on_bytes));
        modules.push_back(std::move(module));
    }
    GPUHOST_TRY(nvidia, reference(modules));
    GPUHOST_CHECK(check_agreement(modules, *nvidia));

    Manifest manifest;
    manifest.kind = SetKind::Modules;
    manifest.version = nvidia->version;
    manifest.kernel = nvidia->kernel();
    manifest.flavour = nvidia->flavour();
    std::sort(modules.begin(), modules.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
    for (const Parsed& module : modules) {
        const ModuleInfo& info = module.info;
        manifest.modules.push_back({info.name,
                                    module.file,
                                    info.version,
                                    info.srcversion,
                                    info.vermagic,
                                    info.depends,
                                    0,
                                    {},
                                    module.signer});
    }
    GPUHOST_CHECK(finish_set(writer, manifest));
    const std::string place = "/modules/" + manifest.kernel + "-" + manifest.flavour;
    GPUHOST_CHECK(staging.remove_tree(place));
    GPUHOST_CHECK(staging.rename(incoming, place));
    return manifest;
}

} // namespace gpuhost::kmod
