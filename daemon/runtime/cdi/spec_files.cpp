// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/spec_files.hpp"

#include "daemon/base/installed.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/facts.hpp"
#include "daemon/runtime/cdi/file_search.hpp"
#include "daemon/runtime/gpu/character_device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include <sys/sysmacros.h>

namespace gpuhost::runtime {

using base::Root;

namespace {

/// Directories of specifications in rising precedence. /var/run is a link to /run, but in a mounted system
/// the link may be broken.
constexpr std::array<const char*, 3> directories{"/etc/cdi", "/run/cdi", "/var/run/cdi"};

/// Returns the edits of a specification: its own and those of all devices. A container gets a part of these.
std::vector<const SpecEdits*> all_edits(const Spec& spec) {
    std::vector<const SpecEdits*> edits{&spec.edits};
    for (const SpecDevice& device : spec.devices)
        edits.push_back(&device.edits);
    return edits;
}

/// Finds missing paths of the host without which containers do not start. Checks each path once.
class HostCheck {
  public:
    explicit HostCheck(const Root& host) : host_(host) {}

    [[nodiscard]] std::vector<std::string> check(const Spec& spec) {
        for (const SpecEdits* const edits : all_edits(spec)) {
            for (const SpecMount& mount : edits->mounts)
                if (mount.is_of_host() && is_new(mount.host_path) && !host_.stat(mount.host_path))
                    gone_[mount.host_path.substr(0, mount.host_path.rfind('/'))].push_back(mount.host_path);
            for (const SpecNode& node : edits->nodes)
                if (is_new(node.host_path.empty() ? node.path : node.host_path))
                    check(node);
            for (const SpecHook& hook : edits->hooks)
                if (is_new(hook.path))
                    check(hook);
        }
        report_gone();
        check_driver(spec);
        return std::move(stale_);
    }

  private:
    bool is_new(const std::string& path) { return seen_.insert(path).second; }

    /// Adds one sentence for each directory: a removed driver leaves dozens of missing files.
    void report_gone() {
        for (const auto& [directory, paths] : gone_)
            stale_.push_back(paths.front() + (paths.size() == 1 ? " is missing"
                                                                : " and " + std::to_string(paths.size() - 1) +
                                                                      " more in that directory are missing"));
    }

    void check(const SpecNode& node) {
        const std::string& path = node.host_path.empty() ? node.path : node.host_path;
        const auto device = stat_character_device(host_, path);
        const auto st = device ? base::Result<struct stat>(*device) : host_.stat(path);
        const bool numbered = node.major != 0 || node.minor != 0;
        if (!st)
            stale_.push_back(path + " is missing");
        else if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode) && !S_ISFIFO(st->st_mode))
            stale_.push_back(path + " is not a device node");
        else if (numbered &&
                 (gnu_dev_major(st->st_rdev) != node.major || gnu_dev_minor(st->st_rdev) != node.minor))
            stale_.push_back(path + " is device " + std::to_string(gnu_dev_major(st->st_rdev)) + ":" +
                             std::to_string(gnu_dev_minor(st->st_rdev)) + " now, not " +
                             std::to_string(node.major) + ":" + std::to_string(node.minor));
    }

    void check(const SpecHook& hook) {
        const auto st = host_.stat(hook.path);
        if (!st || !S_ISREG(st->st_mode) || (st->st_mode & 0111U) == 0)
            stale_.push_back("hook " + hook.path + " is missing or not executable");
    }

    void check_driver(const Spec& spec) {
        const std::string version = driver_version(spec);
        const std::string loaded = host_.read_line("/sys/module/nvidia/version").value_or(std::string());
        if (!version.empty() && !loaded.empty() && version != loaded)
            stale_.push_back("it is for driver " + version + ", but " + loaded + " is loaded");
    }

    const Root& host_;
    std::set<std::string> seen_;
    std::map<std::string, std::vector<std::string>> gone_; ///< missing mount sources by directory
    std::vector<std::string> stale_;
};

/// Orders names. Digits are compared as numbers: "gpu=2" precedes "gpu=10".
bool comes_before(const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
}

/// Sets the states of `claims`. All have the same name, and are ordered by rising precedence of their
/// directories. A conflict in one directory makes the device unavailable even from directories with higher
/// precedence. The CDI library of runtimes does the same.
void settle(std::span<DeviceClaim> claims) {
    const auto pair =
        std::adjacent_find(claims.begin(), claims.end(), [](const DeviceClaim& a, const DeviceClaim& b) {
            return a.file->directory == b.file->directory;
        });
    for (DeviceClaim& claim : claims)
        if (pair != claims.end()) {
            claim.state = DeviceClaim::State::Conflict;
            claim.other = claim.file == pair->file ? std::next(pair)->file : pair->file;
        } else if (claim.file != claims.back().file) {
            claim.state = DeviceClaim::State::Shadowed;
            claim.other = claims.back().file;
        }
}

} // namespace

SpecFile check_spec_file(const Root& host, const std::string& path, const base::Result<std::string>& text) {
    SpecFile file;
    file.path = path;
    file.ours = text && is_ours(*text);
    auto spec = text ? parse_spec(*text, path) : base::fail(text.error());
    if (!spec) {
        file.problems = {spec.error().message};
        return file;
    }
    file.problems = spec_problems(*spec);
    file.stale = HostCheck(host).check(*spec);
    file.spec = std::move(*spec);
    return file;
}

std::vector<SpecFile> read_spec_files(const Root& host) {
    std::vector<SpecFile> files;
    std::set<std::string> read;
    for (std::size_t rank = 0; rank < directories.size(); ++rank) {
        const auto directory = real_path(host, directories[rank]);
        if (!directory || !read.insert(*directory).second)
            continue;
        const auto names = host.list(*directory);
        if (!names) {
            files.push_back(check_spec_file(host, *directory, base::fail(names.error())));
            files.back().directory = rank;
            continue;
        }
        for (const std::string& name : *names) {
            if (!is_spec_file(name))
                continue;
            const std::string path = *directory + "/" + name;
            files.push_back(check_spec_file(host, path, host.read(path)));
            files.back().directory = rank;
        }
    }
    return files;
}

bool is_ours(std::string_view text) {
    return base::starts_with(text, own_mark) ||
           text.find(base::installed_program(hook_program)) != std::string_view::npos;
}

std::string driver_version(const Spec& spec) {
    for (const SpecEdits* const edits : all_edits(spec))
        for (const SpecMount& mount : edits->mounts)
            for (const std::string_view library : {"/libcuda.so.", "/libnvidia-ml.so."})
                if (const auto at = mount.host_path.rfind(library); at != std::string::npos)
                    if (std::string version = mount.host_path.substr(at + library.size());
                        base::is_driver_version(version))
                        return version;
    return "";
}

std::vector<DeviceClaim> device_claims(const std::vector<SpecFile>& files) {
    std::vector<DeviceClaim> claims;
    for (const SpecFile& file : files)
        if (file.spec && file.is_good())
            for (const SpecDevice& device : file.spec->devices)
                claims.push_back({file.spec->kind + "=" + device.name, &file, &device});
    std::stable_sort(claims.begin(), claims.end(),
                     [](const auto& a, const auto& b) { return comes_before(a.name, b.name); });
    for (std::size_t first = 0, end = 0; first < claims.size(); first = end) {
        while (end < claims.size() && claims[end].name == claims[first].name)
            ++end;
        settle(std::span(claims).subspan(first, end - first));
    }
    return claims;
}

} // namespace gpuhost::runtime
