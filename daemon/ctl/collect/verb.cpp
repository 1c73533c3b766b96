// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/bundle/create.hpp"
#include "daemon/ctl/bundle/output.hpp"
#include "daemon/ctl/bundle/signing.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/collect/gather.hpp"
#include "daemon/ctl/collect/options.hpp"
#include "daemon/ctl/collect/view.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <tuple>
#include <utility>

namespace gpuhost::ctl {

using base::Errc;
using base::Json;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::array options{
    distribution_option, driver_option,      kernel_option,       image_option,           package_option,
    directory_option,    bundle_name_option, generation_option,   platform_option,        mirror_option,
    keyring_option,      host_status_option, driver_files_option, output_option,          volume_size_option,
    sign_key_option,     certificate_option, passphrase_option,   collect_dry_run_option, option::json};

/// A temporary directory, which the destructor removes.
class Scratch {
  public:
    static Result<Scratch> make() {
        std::error_code error;
        fs::path parent = fs::temp_directory_path(error);
        if (!error)
            parent = fs::absolute(parent, error); // apt and skopeo run in another directory
        std::string name = (parent / "gpuhost-collect-XXXXXX").string();
        if (error || ::mkdtemp(name.data()) == nullptr)
            return base::fail_errno(name, error ? error.value() : errno);
        return Scratch(std::move(name));
    }
    Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch() {
        std::error_code ignored;
        if (!path_.empty())
            fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    explicit Scratch(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

/// Fetches everything. `scratch` is a private directory.
Result<void> fetch_all(Gathering& gathering, const std::string& scratch) {
    const CollectRequest& request = gathering.request;
    std::optional<Apt> apt; // opened first: a mistake is reported before a long download
    if (!request.drivers.empty() || !request.kernels.empty() || !request.packages.empty() ||
        !request.files.empty()) {
        const std::string& parent = request.dry_run ? scratch : request.directory;
        GPUHOST_TRY(opened, Apt::open(gathering.programs, request, parent + "/.apt", scratch));
        apt = std::move(opened);
    }
    GPUHOST_TRY(have, gather_driver_files(gathering));
    if (apt) {
        gathering.programs.report("reading the archive's index");
        GPUHOST_CHECK(apt->update());
        GPUHOST_CHECK(gather_packages(gathering, *apt, have));
    }
    GPUHOST_CHECK(gather_images(gathering));
    auto& items = gathering.result.items;
    std::sort(items.begin(), items.end(), [](const CollectedItem& a, const CollectedItem& b) {
        return std::tie(a.kind, a.file, a.name) < std::tie(b.kind, b.file, b.name);
    });
    return {};
}

void add_notes(Collection& collection, const CollectRequest& request) {
    if (!request.drivers.empty() && request.kernels.empty())
        collection.notes.emplace_back("No kernel headers were collected. Hosts need the headers of their "
                                      "kernel to build the driver: add --kernel RELEASE for each kernel.");
}

/// Removes files of the last run that this run does not need. Notes those that can't be removed.
void remove_old(Gathering& gathering) {
    for (const CollectedItem& old : gathering.before) {
        const auto& items = gathering.result.items;
        const bool needed = std::any_of(items.begin(), items.end(),
                                        [&](const CollectedItem& item) { return item.file == old.file; });
        if (needed || old.kind == "image" || digest_of(gathering.directory, old.file) != old.sha256)
            continue;
        if (const auto removed = gathering.directory.remove("/" + old.file); !removed)
            gathering.result.notes.push_back("A file of an earlier run is not needed, but was not removed: " +
                                             printable(removed.error().message) + ".");
    }
}

/// Writes the record and, if there is any content, the specification.
Result<void> write_results(Gathering& gathering) {
    const CollectRequest& request = gathering.request;
    const bool is_complete = gathering.result.missing.empty();
    if (is_complete)
        remove_old(gathering);
    GPUHOST_CHECK(write_record(gathering, is_complete));
    if (gathering.result.items.empty())
        return {};
    const std::string text = to_text(spec_of(gathering.result, request));
    GPUHOST_CHECK(images::parse_bundle_spec(text, request.spec_path()));
    return gathering.directory.write_atomic("/" + request.name + ".spec", text);
}

/// Fetches everything and writes the results. Ctrl-C ends gpuhostctl when this function returns.
Result<Collection> gather(const Session& session, const CollectRequest& request) {
    const Programs programs(session);
    GPUHOST_TRY(scratch, Scratch::make());
    if (!request.dry_run)
        GPUHOST_CHECK(make_directory(request.directory));
    std::error_code ignored;
    const bool exists = fs::is_directory(request.directory, ignored);
    GPUHOST_TRY(directory, base::Root::open(exists ? request.directory : scratch.path()));
    Gathering gathering{programs, request, directory, read_collection(directory)};
    GPUHOST_CHECK(fetch_all(gathering, scratch.path()));
    add_notes(gathering.result, request);
    if (!request.dry_run)
        GPUHOST_CHECK(write_results(gathering));
    return std::move(gathering.result);
}

Result<int> verdict(const Collection& collection) {
    if (collection.missing.empty())
        return 0;
    return base::fail(Errc::NotFound, plural(collection.missing.size(), "item is", "items are") + " missing",
                      "Follow the hints above, then run the command again. It fetches only what is missing.");
}

Result<int> run(Session& session) {
    GPUHOST_TRY(request, chosen_request(session));
    std::optional<BundleTarget> target;
    if (session.arguments().has(output_option) && !request.dry_run) {
        GPUHOST_TRY(chosen, chosen_target(session)); // before a long download
        target = std::move(chosen);
    }
    GPUHOST_TRY(collection, gather(session, request));
    if (!session.wants_json())
        session.print(render_collection(collection, request, session.out()));
    Json document = to_json(collection, request);
    if (target && collection.missing.empty()) {
        const std::string path = request.spec_path();
        GPUHOST_TRY(spec, images::parse_bundle_spec(to_text(spec_of(collection, request)), path));
        GPUHOST_TRY(created, create_bundle(session, spec, path, *target));
        document["bundle"] = std::move(created.document);
        if (!session.wants_json())
            session.note(created.text);
    }
    if (session.wants_json())
        session.print_json(document);
    return verdict(collection);
}

constexpr std::array examples{Example{"bundle collect --distribution=debian-12 --package=gcc --directory=d",
                                      "fetch a compiler and all that it depends on"}};

} // namespace

const Verb bundle_collect_verb{
    "bundle collect",
    "",
    "fetch everything for hosts without a network",
    "Run it on a machine with a network. It fetches driver packages, kernel headers, a compiler, further "
    "packages and images into --directory, with all libraries that they need. It writes NAME.spec there, the "
    "specification for 'bundle create', and collected.json with the origin and digest of each file. With "
    "--output it makes the bundle too. Packages come from the distribution's archive by apt, which verifies "
    "its signature. This machine's own apt is not changed, and may be of another release. Images come from "
    "their registries by skopeo. Files that are in the directory already are not fetched again. If something "
    "can't be found, it prints what to do, writes no bundle, and exits with 4. Needs no daemon and no "
    "privileges.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
