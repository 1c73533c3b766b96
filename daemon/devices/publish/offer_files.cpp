// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/offer_files.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/local_users.hpp"
#include "daemon/devices/labels.hpp"

#include <cerrno>
#include <thread>

#include <unistd.h>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

// Not in offer_directory, which gpuhost-devices watches.
constexpr std::string_view record_path = "/run/gpuhost/devices.json";
constexpr std::string_view saved_path = "/run/gpuhost/devices-before.json";
constexpr std::string_view runtime_directory = "/run/gpuhost-devices"; ///< exists while gpuhost-devices runs
constexpr const char* user = "gpuhost-devices";
constexpr std::chrono::seconds longest_answer{10};
constexpr std::chrono::milliseconds poll_interval{50};
constexpr std::chrono::seconds longest_end{10};  ///< of gpuhost-devices, after its offer was removed
constexpr std::chrono::seconds longest_start{5}; ///< of gpuhost-devices, after its offer was written
/// Exists if systemd starts gpuhost-devices for an offer.
constexpr std::string_view path_unit = "/etc/systemd/system/paths.target.wants/gpuhost-devices.path";

Result<Json> read_json(const Root& root, std::string_view path) {
    GPUHOST_TRY(text, root.read(path, largest_offer));
    return base::parse_json(text, path);
}

/// Opens a directory below `parent`, and creates it if it does not exist. Follows no link. On a host, fails
/// if another user than root could replace what is in it.
Result<base::UniqueFd> enter(const Root& root, const base::UniqueFd& parent, const std::string& name,
                             const std::string& path) {
    if (::mkdirat(parent.get(), name.c_str(), 0750) != 0 && errno != EEXIST) // as the kubelet
        return base::fail_errno("creating '" + path + "'", errno);
    base::UniqueFd directory(
        ::openat(parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory && (errno == ENOTDIR || errno == ELOOP))
        return base::fail(Errc::Refused, "'" + path + "' is a link or not a directory",
                          "Set KubeletRoot= to a path without links: realpath " + path + ".");
    struct stat found {};
    if (!directory || ::fstat(directory.get(), &found) != 0)
        return base::fail_errno("opening '" + path + "'", errno);
    if (root.is_host() && (found.st_uid != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        return base::fail(Errc::Refused, "users other than root can write '" + path + "'",
                          "Run: chown root " + path + " && chmod go-w " + path + ".");
    return directory;
}

/// Makes a directory for gpuhost-devices below `parent`, which only root can write. Works by name: the worker
/// may change the directory of another user, but not open it.
Result<void> give_away(const Root& root, const base::UniqueFd& parent, const std::string& name,
                       const std::string& directory) {
    struct stat found {};
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
        return base::fail_errno("creating '" + directory + "'", errno);
    if (::fstatat(parent.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
        return base::fail_errno("reading '" + directory + "'", errno);
    if (!S_ISDIR(found.st_mode))
        return base::fail(Errc::BadContent, "'" + directory + "' is not a directory", "Remove it.");
    if (::fchmodat(parent.get(), name.c_str(), 0700, 0) != 0)
        return base::fail_errno("changing the mode of '" + directory + "'", errno);
    if (!root.is_host())
        return {};
    const auto owner = base::find_local_user(user);
    if (!owner)
        return base::fail(Errc::NotFound, std::string("user ") + user + ": not found",
                          "Create it: systemd-sysusers.");
    if (::fchownat(parent.get(), name.c_str(), owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) != 0)
        return base::fail_errno("changing the owner of '" + directory + "'", errno);
    return {};
}

std::string registry_of(const std::string& kubelet_root) {
    return kubelet_root + "/plugins_registry/gpuhost";
}

/// Returns true if gpuhost-devices may write the directory. Outside a host, only the directory counts.
bool is_given_away(const Root& root, const std::string& directory) {
    const auto found = root.lstat(directory);
    if (!found || !S_ISDIR(found->st_mode))
        return false;
    const auto owner = root.is_host() ? base::find_local_user(user) : std::nullopt;
    return !root.is_host() || (owner && found->st_uid == owner->uid);
}

template <class Condition>
bool wait_until(Condition reached, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!reached()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        std::this_thread::sleep_for(poll_interval);
    }
    return true;
}

} // namespace

std::optional<Offer> read_offer(const Root& root) {
    const auto text = root.read(offer_path, largest_offer);
    auto offer = text ? parse_offer(*text) : base::fail(text.error());
    return offer ? std::optional(*std::move(offer)) : std::nullopt;
}

std::optional<Answer> read_answer(const Root& root) {
    const auto text = root.read(answer_path, largest_offer);
    auto answer = text ? parse_answer(*text) : base::fail(text.error());
    return answer ? std::optional(*std::move(answer)) : std::nullopt;
}

bool is_served(const Root& root) {
    return root.exists(runtime_directory);
}

Result<std::string> write_offer(const Root& root, Offer offer) {
    offer.id = std::to_string(base::realtime_us()) + "-" + std::to_string(::getpid());
    GPUHOST_CHECK(root.make_directories(offer_directory));
    GPUHOST_CHECK(root.write_atomic(offer_path, to_text(offer)));
    return offer.id;
}

Result<void> remove_offer(const Root& root) {
    GPUHOST_CHECK(root.remove(offer_path));
    GPUHOST_CHECK(root.remove(record_path));
    return root.remove(registry_link);
}

bool has_features(const Root& root, const std::optional<Offer>& offer) {
    if (!offer && root.exists(offer_path))
        return true;
    const auto labels = published_labels(offer.value_or(Offer()), LabelMode::nfd);
    if (!labels)
        return true;
    return labels->empty() ? !root.exists(features_path)
                           : root.read(features_path, largest_offer).value_or("") == to_lines(*labels);
}

Result<void> write_features(const Root& root) {
    const auto offer = read_offer(root);
    if (has_features(root, offer))
        return {};
    const auto labels = published_labels(offer.value_or(Offer()), LabelMode::nfd);
    if (!labels || labels->empty())
        return root.remove(features_path);
    GPUHOST_CHECK(root.make_directories(features_path.substr(0, features_path.rfind('/'))));
    return root.write_atomic(features_path, to_lines(*labels), 0644);
}

void publish_features(core::StepContext& context) {
    if (const auto written = write_features(context.root); !written)
        context.warn("Node Feature Discovery does not get the present labels of the GPUs: " +
                     written.error().message);
}

std::optional<OfferRecord> read_offer_record(const Root& root) {
    const auto value = read_json(root, record_path);
    if (!value)
        return std::nullopt;
    return OfferRecord{base::string_or(*value, "id", ""), base::member(*value, "inputs"),
                       base::string_or(*value, "problem", "")};
}

Result<void> write_offer_record(const Root& root, const OfferRecord& record) {
    return root.write_atomic(
        record_path,
        base::dump(Json{{"id", record.id}, {"inputs", record.inputs}, {"problem", record.problem}}) + "\n");
}

Result<void> save_offer(const Root& root, const std::string& staging) {
    if (const auto saved = read_json(root, saved_path); saved && base::string_or(*saved, "of", "") == staging)
        return {};
    const auto text = root.read(offer_path, largest_offer);
    const auto record = root.read(record_path, largest_offer);
    GPUHOST_CHECK(root.make_directories("/run/gpuhost"));
    return root.write_atomic(saved_path,
                             base::dump(Json{{"of", staging},
                                             {"offer", text.value_or("")},
                                             {"record", record.value_or("")},
                                             {"link", root.read_link(registry_link).value_or("")}}) +
                                 "\n");
}

Result<void> restore_offer(const Root& root, const std::string& staging) {
    const auto saved = read_json(root, saved_path);
    if (!saved || base::string_or(*saved, "of", "") != staging)
        return {};
    const std::string text = base::string_or(*saved, "offer", "");
    if (text.empty())
        return remove_offer(root);
    GPUHOST_CHECK(root.make_directories(offer_directory));
    const std::string link = base::string_or(*saved, "link", "");
    if (root.read_link(registry_link).value_or("") != link) {
        GPUHOST_CHECK(remove_offer(root)); // gpuhost-devices follows the link at its start
        (void)wait_for_end(root, longest_end);
    }
    if (!link.empty())
        GPUHOST_CHECK(root.symlink_atomic(link, registry_link));
    GPUHOST_CHECK(root.write_atomic(offer_path, text));
    const std::string record = base::string_or(*saved, "record", "");
    return record.empty() ? root.remove(record_path) : root.write_atomic(record_path, record);
}

Result<void> make_registry(const Root& root, const std::string& kubelet_root) {
    const std::string directory = registry_of(kubelet_root);
    GPUHOST_TRY(parent, root.open_file("/", O_PATH | O_DIRECTORY));
    std::size_t begin = 1;
    for (std::size_t end = 0; (end = directory.find('/', begin)) != std::string::npos; begin = end + 1) {
        GPUHOST_TRY(next,
                    enter(root, parent, directory.substr(begin, end - begin), directory.substr(0, end)));
        parent = std::move(next);
    }
    GPUHOST_CHECK(give_away(root, parent, directory.substr(begin), directory));
    GPUHOST_CHECK(root.make_directories(offer_directory));
    if (const auto target = root.read_link(registry_link); target && *target == directory)
        return {};
    return root.symlink_atomic(directory, registry_link);
}

bool has_registry(const Root& root, const std::string& kubelet_root) {
    const std::string directory = registry_of(kubelet_root);
    const auto target = root.read_link(registry_link);
    return target && *target == directory && is_given_away(root, directory);
}

bool wait_for_end(const Root& root, std::chrono::milliseconds patience) {
    return wait_until([&] { return !is_served(root); }, patience);
}

bool wait_for_answer(const Root& root, const std::string& id, std::chrono::milliseconds patience) {
    const bool starts = root.exists(path_unit);
    const auto latest_start = std::chrono::steady_clock::now() + longest_start;
    const auto has_answered = [&] {
        const auto answer = read_answer(root);
        if (!is_served(root))
            return !starts || std::chrono::steady_clock::now() >= latest_start;
        return answer && answer->id == id;
    };
    return wait_until(has_answered, patience);
}

void confirm_offer(core::StepContext& context, const std::string& id) {
    context.progress(-1, "waiting for gpuhost-devices");
    if (!wait_for_answer(context.root, id, longest_answer))
        context.warn("gpuhost-devices did not confirm within " + std::to_string(longest_answer.count()) +
                     " s that the kubelet knows of the change: journalctl -u gpuhost-devices");
}

} // namespace gpuhost::devices
