// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/ctl/cli/byte_meter.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "images/bundle/host_facts.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>

#include <fcntl.h>
#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;
using kmod::ModuleFile;
using kmod::ModuleSet;

namespace {

constexpr Option directory_option{"output", "PATH", "the directory to write to; created if needed",
                                  false,    false,  'o'};
constexpr Option kernel_option{"kernel", "RELEASE", "only the modules for this kernel", false, true};
constexpr std::array options{directory_option, kernel_option, root_option, option::json};

constexpr std::size_t block_bytes = std::size_t{1} << 20U;

/// The module sets to export, and the directory for them.
struct Export {
    std::string version;
    std::string directory;
    std::vector<const ModuleSet*> sets; ///< the newest of each kernel and flavour

    [[nodiscard]] std::string spec_path() const { return directory + "/" + version + ".spec"; }
    /// Returns the set's path relative to the directory of the specification.
    [[nodiscard]] std::string place(const ModuleSet& set) const {
        return version + "/" + set.kernel + "-" + set.flavour;
    }
    [[nodiscard]] std::string place(const ModuleSet& set, const ModuleFile& module) const {
        return place(set) + "/" + module.file;
    }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const ModuleSet* const set : sets)
            for (const ModuleFile& module : set->modules)
                sum += module.size;
        return sum;
    }
};

Result<const kmod::DriverVersion*> find_version(const kmod::Store& store, const std::string& wanted) {
    if (const kmod::DriverVersion* const version = store.find(wanted))
        return version;
    std::vector<std::string> known;
    for (const kmod::DriverVersion& version : store.versions)
        known.push_back(version.version);
    return base::fail(Errc::NotFound, "driver " + printable(wanted) + " is not in the store",
                      known.empty() ? "Import it: gpuhostctl driver import FILE…."
                                    : "Use one of: " + base::join(known, ", ") + ".");
}

/// Returns the kernels for which this version has modules.
std::set<std::string> kernels_of(const kmod::DriverVersion& version) {
    std::set<std::string> kernels;
    for (const ModuleSet& set : version.modules)
        kernels.insert(set.kernel);
    return kernels;
}

/// Returns the newest set of each kernel and flavour. A swap would use this set.
Result<std::vector<const ModuleSet*>> choose_sets(const kmod::Store& store,
                                                  const kmod::DriverVersion& version,
                                                  const std::vector<std::string>& wanted) {
    const std::set<std::string> known = kernels_of(version);
    if (known.empty())
        return base::fail(Errc::NotFound, "the store has no modules of driver " + version.version,
                          "Build them: gpuhostctl driver build " + version.version + ".");
    const std::set<std::string> kernels =
        wanted.empty() ? known : std::set<std::string>(wanted.begin(), wanted.end());
    std::vector<const ModuleSet*> sets;
    for (const std::string& kernel : kernels) {
        if (known.count(kernel) == 0)
            return base::fail(Errc::NotFound,
                              "the store has no modules of driver " + version.version + " for kernel " +
                                  printable(kernel),
                              "Use one of: " + base::join({known.begin(), known.end()}, ", ") + ".");
        for (const char* flavour : {"open", "proprietary"})
            if (const ModuleSet* const set = store.modules_for(version.version, kernel, flavour))
                sets.push_back(set);
    }
    return sets;
}

/// Copies a module and verifies its digest. Fails with BadContent if the module is damaged, so that no other
/// host gets it.
Result<void> copy_module(const base::Root& root, const std::string& from, const ModuleFile& module,
                         const std::string& to, ByteMeter& meter) {
    GPUHOST_TRY(source, root.open_file(from, O_RDONLY | O_NOFOLLOW));
    GPUHOST_TRY(target, OutputFile::create(to));
    content::Sha256 hash;
    std::string buffer(block_bytes, '\0');
    for (;;) {
        const ssize_t n = ::read(source.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return base::fail_errno(from, errno);
        if (n == 0)
            break;
        const std::string_view block(buffer.data(), static_cast<std::size_t>(n));
        hash.update(block);
        GPUHOST_CHECK(base::write_all(target.fd(), block, to));
        meter.add(block.size());
    }
    if (hash.finish() != module.sha256)
        return base::fail(Errc::BadContent, from + ": digest mismatch", kmod::mending_hint(from));
    return target.finish();
}

/// Returns the specification. It lists each file by name, because the directory may contain files of another
/// export.
std::string spec_text(const Export& what, const std::string& platform) {
    std::string text;
    for (const ModuleSet* const set : what.sets) {
        text += (text.empty() ? "" : "\n") + ("[Modules " + what.version + " " + set->kernel + " " +
                                              platform + "]\nFlavour=" + set->flavour + "\n");
        for (const ModuleFile& module : set->modules)
            text += "Files=" + what.place(*set, module) + "\n";
    }
    return text;
}

/// Writes the modules, and the specification last, after the files that it names.
Result<void> write_export(const Session& session, const base::Root& root, const Export& what) {
    ByteMeter meter(session.err(), "writing", what.bytes());
    // Remove an old specification first. After an interrupted export it would name modules of two builds.
    if (::unlink(what.spec_path().c_str()) < 0 && errno != ENOENT)
        return base::fail_errno(what.spec_path(), errno);
    for (const ModuleSet* const set : what.sets) {
        GPUHOST_CHECK(make_directory(what.directory + "/" + what.place(*set)));
        for (const ModuleFile& module : set->modules)
            GPUHOST_CHECK(copy_module(root, set->path + "/" + module.file, module,
                                      what.directory + "/" + what.place(*set, module), meter));
    }
    GPUHOST_TRY(spec, OutputFile::create(what.spec_path()));
    GPUHOST_CHECK(base::write_all(spec.fd(), spec_text(what, images::host_platform(root)), what.spec_path()));
    return spec.finish();
}

Json to_json(const Export& what) {
    Json sets = Json::array();
    for (const ModuleSet* const set : what.sets) {
        Json files = Json::array();
        for (const ModuleFile& module : set->modules)
            files.push_back(what.place(*set, module));
        sets.push_back({{"kernel", set->kernel},
                        {"flavour", set->flavour},
                        {"digest", set->digest},
                        {"files", std::move(files)}});
    }
    return {{"version", what.version},
            {"directory", what.directory},
            {"spec", what.spec_path()},
            {"modules", std::move(sets)},
            {"bytes", what.bytes()}};
}

Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    const auto directory = given.value(directory_option);
    if (!directory || directory->empty())
        return base::fail(Errc::InvalidArgument, "--output is missing",
                          "Name the directory to write to: -o DIRECTORY.");
    GPUHOST_TRY(root, given_root(given));
    GPUHOST_TRY(store, kmod::read_store(root));
    GPUHOST_TRY(version, find_version(store, given.words()[0]));
    GPUHOST_TRY(sets, choose_sets(store, *version, given.values(kernel_option)));
    const Export what{version->version, *directory, std::move(sets)};
    GPUHOST_CHECK(write_export(session, root, what));
    if (session.wants_json()) {
        session.print_json(to_json(what));
        return 0;
    }
    session.note("Wrote " + plural(what.sets.size(), "set", "sets") + " of modules of driver " +
                 what.version + ", " + human_bytes(what.bytes()) + ", to " + *directory +
                 ".\nNext: copy the sections of " + what.spec_path() +
                 " into a specification in the same directory, for 'gpuhostctl bundle create'.\n");
    return 0;
}

constexpr std::array examples{
    Example{"driver export 550.163.01 -o modules", "write the modules of this version below ./modules"}};

} // namespace

const Verb driver_export_verb{
    "driver export",
    "VERSION",
    "write the modules of a version to files",
    "Writes the modules of one version from the store, as built and signed, to PATH/VERSION/KERNEL-FLAVOUR/. "
    "Writes the newest for each kernel and flavour, or for the kernels of --kernel. PATH/VERSION.spec has "
    "the sections that 'gpuhostctl bundle create' needs, so that hosts without a compiler can use these "
    "builds. Compares each file with its digest. Needs no daemon.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
