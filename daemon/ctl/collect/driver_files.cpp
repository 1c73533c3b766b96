// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/core/file_version.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/collect/gather.hpp"

#include <algorithm>
#include <filesystem>

#include <fcntl.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

const images::Tool curl{"curl", "curl"};
constexpr const char* largest_file = "4294967296"; ///< bytes; NVIDIA's .run has 0.5 GB
constexpr std::chrono::hours download_deadline{12};
constexpr std::size_t tag_limit = std::size_t{64} << 10U;
constexpr int no_range = 33; ///< curl's exit status

/// Returns the requested driver version that the file's name contains; empty if there is none.
std::string version_in(const CollectRequest& request, const std::string& name) {
    std::string version = core::version_in_names({name}, base::is_driver_version);
    return base::contains(request.drivers, version) ? version : "";
}

CollectedItem item_of(const std::string& name, const std::string& source, const std::string& version) {
    CollectedItem item{"driver", name, version, "driver/" + version + "/" + name, without_password(source)};
    item.driver = version;
    return item;
}

/// Sets digest and size of the item's file in the directory.
Result<void> measure(const Gathering& gathering, CollectedItem& item) {
    GPUHOST_TRY(fd, gathering.directory.open_file("/" + item.file, O_RDONLY | O_NOFOLLOW));
    GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), item.file));
    item.sha256 = digest.sha256;
    item.size = digest.size;
    return {};
}

Result<void> copy_directory(Gathering& gathering, const std::string& directory,
                            std::set<std::string>& versions) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
        if (const std::string name = entry->path().filename().string();
            entry->is_regular_file(error) && base::is_package_file(name))
            names.push_back(name);
    if (error)
        return base::fail_errno(directory, error.value());
    std::sort(names.begin(), names.end());
    std::size_t found = 0;
    std::size_t skipped = 0;
    for (const std::string& name : names) {
        const std::string version = version_in(gathering.request, name);
        if (version.empty())
            continue;
        if (!is_plain_name(name)) {
            ++skipped;
            gathering.result.notes.push_back(
                "Skipped '" + printable(name) +
                "': its name has a character that a specification cannot have. Rename the file.");
            continue;
        }
        ++found;
        versions.insert(version);
        GPUHOST_CHECK(
            copy_file(gathering, directory + "/" + name, item_of(name, directory + "/" + name, version)));
    }
    if (found == 0 && skipped > 0)
        gathering.miss("driver files in " + directory,
                       plural(skipped, "file was skipped for its name", "files were skipped for their names"),
                       "Rename the files: use letters, digits, '.', '_', '+', '~' and '-'.");
    else if (found == 0)
        gathering.miss("driver files in " + directory,
                       "no .run, .deb or .rpm file has one of the versions " +
                           base::join(gathering.request.drivers, ", ") + " in its name",
                       "Name the directory with the driver's packages: --driver-files DIRECTORY.");
    return {};
}

/// Reports whether the last run fetched the item from the same URL, and its file is unchanged.
bool is_present(const Gathering& gathering, CollectedItem& item) {
    const auto before =
        std::find_if(gathering.before.begin(), gathering.before.end(), [&](const CollectedItem& one) {
            return one.file == item.file && one.source == item.source;
        });
    if (before == gathering.before.end() || before->sha256.empty() ||
        digest_of(gathering.directory, item.file) != before->sha256)
        return false;
    item.sha256 = before->sha256;
    item.size = before->size;
    return true;
}

/// Returns the strong entity tag (RFC 9110, 8.8.3) of an interrupted download; empty if there is none.
std::string tag_of(const std::string& part) {
    std::error_code ignored;
    const auto text = fs::exists(part, ignored) ? read_small_file(part + ".etag", tag_limit) : "";
    std::string tag = text ? base::last_line(*text) : "";
    const bool valid = tag.size() > 1 && tag.front() == '"' && tag.back() == '"' && printable(tag) == tag;
    return valid ? tag : "";
}

/// Downloads `url` to `part`. Continues an interrupted download if the server has the same file still and can
/// send the rest of it, else starts again.
Result<base::Finished> download(const Programs& programs, const std::string& url, const std::string& part) {
    for (bool again = false;; again = true) {
        Programs::Call call{curl,
                            {"--fail", "--silent", "--show-error", "--location", "--globoff", "--proto",
                             "=https", "--retry", "3", "--connect-timeout", "30", "--speed-limit", "1000",
                             "--speed-time", "60", "--max-filesize", largest_file, "--output", part}};
        call.deadline = download_deadline;
        const std::string tag = again ? "" : tag_of(part);
        std::error_code ignored;
        if (tag.empty())
            for (const char* const suffix : {"", ".etag"})
                fs::remove(part + suffix, ignored);
        const auto more = tag.empty() ? std::vector<std::string>{"--etag-save", part + ".etag", "--", url}
                                      : std::vector<std::string>{"--continue-at",    "-",  "--header",
                                                                 "If-Range: " + tag, "--", url};
        call.words.insert(call.words.end(), more.begin(), more.end());
        GPUHOST_TRY(finished, programs.attempt(call));
        const bool is_whole =
            finished.exit_status == no_range || // the server began to send the whole file
            finished.output.find("error: 416") != std::string::npos; // HTTP 416: nothing is left to send
        if (tag.empty() || !is_whole)
            return finished;
    }
}

Result<void> fetch(Gathering& gathering, const std::string& url, std::set<std::string>& versions) {
    const std::string name = url.substr(url.rfind('/') + 1);
    const std::string version = version_in(gathering.request, name);
    if (version.empty()) {
        gathering.miss("driver file " + name, "its name has none of the driver versions",
                       "Name its version with --driver.");
        return {};
    }
    versions.insert(version);
    CollectedItem item = item_of(name, url, version);
    item.present = is_present(gathering, item);
    if (item.present || gathering.request.dry_run) {
        gathering.result.items.push_back(std::move(item));
        return {};
    }
    const std::string to = gathering.request.directory + "/" + item.file;
    GPUHOST_CHECK(make_directory(directory_of(to)));
    // the URL is part of the name, because one server's entity tag means nothing to another
    const std::string part = to + "." + content::sha256(url).substr(0, 8) + ".part";
    gathering.programs.report("fetching " + name);
    GPUHOST_TRY(finished, download(gathering.programs, url, part));
    if (finished.exit_status != 0) {
        gathering.miss("driver file " + name, reason_in(finished.output),
                       "Check the URL and the network. Run the command again to continue the download.");
        return {};
    }
    std::error_code error;
    fs::rename(part, to, error);
    if (error)
        return base::fail_errno(to, error.value());
    fs::remove(part + ".etag", error);
    GPUHOST_CHECK(measure(gathering, item));
    gathering.result.items.push_back(std::move(item));
    return write_record(gathering, false);
}

} // namespace

Result<void> copy_file(Gathering& gathering, const std::string& from, CollectedItem item) {
    GPUHOST_TRY(root, base::Root::open(directory_of(from)));
    GPUHOST_TRY(fd, root.open_file("/" + fs::path(from).filename().string(), O_RDONLY));
    GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), from));
    item.source = from;
    item.sha256 = digest.sha256;
    item.size = digest.size;
    item.present = digest_of(gathering.directory, item.file) == item.sha256;
    if (!item.present && !gathering.request.dry_run) {
        const std::string to = gathering.request.directory + "/" + item.file;
        GPUHOST_CHECK(make_directory(directory_of(to)));
        std::error_code error;
        fs::copy_file(from, to + ".part", fs::copy_options::overwrite_existing, error);
        if (!error)
            fs::rename(to + ".part", to, error);
        if (error)
            return base::fail_errno(to, error.value());
        if (digest_of(gathering.directory, item.file) != item.sha256)
            return base::fail(Errc::BadContent, from + ": changed while it was copied",
                              "Run the command again.");
    }
    gathering.result.items.push_back(std::move(item));
    return {};
}

Result<std::set<std::string>> gather_driver_files(Gathering& gathering) {
    std::set<std::string> versions;
    for (const std::string& place : gathering.request.driver_files)
        GPUHOST_CHECK(base::starts_with(place, "https://") ? fetch(gathering, place, versions)
                                                           : copy_directory(gathering, place, versions));
    return versions;
}

} // namespace gpuhost::ctl
