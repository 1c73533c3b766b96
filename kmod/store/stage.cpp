// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/stage.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/store/module_set.hpp"

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using core::StepContext;

namespace {

/// Largest factor by which real compressed modules grow when they are unpacked.
constexpr std::uint64_t module_growth = 8;

Json to_json(const Imported& imported) {
    Json packages = Json::array();
    for (const ImportedPackage& package : imported.packages)
        packages.push_back(Json{{"package", package.package},
                                {"version", package.version},
                                {"kept", package.kept},
                                {"ignored", package.ignored}});
    return Json{{"version", imported.version}, {"sets", imported.places}, {"packages", std::move(packages)}};
}

Result<Imported> import_modules(const base::Root& staging, const std::vector<ImportFile>& files,
                                std::uint64_t space, const OnProgress& progress, const std::string& wanted) {
    GPUHOST_TRY(total, content::total_size(files));
    if (total * module_growth > space)
        return base::fail(Errc::NoSpace,
                          "these modules may need " + std::to_string(total * module_growth >> 20U) +
                              " MiB, but " + std::to_string(space >> 20U) + " MiB are free",
                          std::string(make_room));
    std::vector<ModuleInput> inputs;
    for (const ImportFile& file : files)
        inputs.push_back({file.fd, file.name});
    std::uint64_t done = 0;
    GPUHOST_TRY(manifest, stage_modules(staging, inputs, space, [&](std::uint64_t n) {
                    done += n;
                    progress(std::min(1.0, static_cast<double>(done) / static_cast<double>(total + 1)),
                             "reading modules");
                }));
    GPUHOST_CHECK(check_version(manifest.version, wanted));
    return Imported{manifest.version, manifest.kernel, manifest.flavour, {set_place(manifest)}, {}};
}

/// Returns the title of the import, whose plan knew only the names of the files.
std::string title_of(const Imported& imported, std::size_t files) {
    const std::string what = imported.kernel.empty() ? "package" : "module";
    return "import driver " + imported.version +
           (imported.kernel.empty() ? "" : " for kernel " + imported.kernel) + " (" + std::to_string(files) +
           " " + what + (files == 1 ? ")" : "s)");
}

/// Returns a note about modules for a kernel that this host lacks; empty if it has the kernel. It is not an
/// error: a kernel is prepared before it is installed. args: "kernel" runs, "kernels" are installed.
std::string note_of_kernel(const std::string& kernel, const Json& args) {
    const std::vector<std::string> installed = base::strings_or_empty(args, "kernels");
    if (kernel.empty() || installed.empty() || base::contains(installed, kernel))
        return {};
    return "modules for kernel " + kernel +
           ", which is not installed here (installed: " + base::join(installed, ", ") +
           "; running: " + base::string_or(args, "kernel", "") + ")";
}

Result<Json> apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(files, content::passed_files(context, args));
    GPUHOST_TRY(space, content::usable_space(context.root, store_directory));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(context.staging)));
    GPUHOST_TRY(imported,
                stage_files(staging, files, space, context.progress, base::string_or(args, "version", {})));
    if (const std::string note = note_of_kernel(imported.kernel, args); !note.empty())
        context.note(note);
    Json output = to_json(imported);
    output["title"] = title_of(imported, files.size());
    return output;
}

} // namespace

Result<Imported> stage_files(const base::Root& staging, const std::vector<ImportFile>& files,
                             std::uint64_t space, const OnProgress& progress, const std::string& wanted) {
    if (files.empty())
        return base::fail(Errc::BadContent, "no files to import");
    return base::is_module_file(files.front().name) ? import_modules(staging, files, space, progress, wanted)
                                                    : stage_packages(staging, files, space, progress, wanted);
}

Result<void> check_version(const std::string& version, const std::string& wanted) {
    if (wanted.empty() || version == wanted)
        return {};
    return base::fail(Errc::Refused, "the files have driver " + version + ", not " + wanted,
                      "Name files of driver " + wanted +
                          ", or the version that they have: gpuhostctl upgrade " + version + " FILE….");
}

core::StepCode store_stage_code() {
    core::StepCode code;
    code.name = "store.stage";
    code.preflight = [](const StepContext& context, const Json& args) {
        return content::check_passed_files(context, args, store_directory, make_room);
    };
    code.apply = apply;
    // Needs no verify: the step store.publish hashes all files again. Needs no undo: the staging directory is
    // deleted with its transaction.
    return code;
}

} // namespace gpuhost::kmod
