// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_publisher.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi_modes.hpp"
#include "daemon/runtime/character_device.hpp"
#include "daemon/runtime/other_specs.hpp"
#include "daemon/runtime/spec_files.hpp"

#include <chrono>
#include <set>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::Result;
using base::Root;

constexpr std::string_view volatile_directory = "/run/cdi";
constexpr std::chrono::seconds waking{60};

std::string path_of(std::string_view directory, const CdiMode& mode) {
    return std::string(directory) + "/" + std::string(mode.file);
}

bool is_uuid(std::string_view device) {
    return base::starts_with(device, "GPU-") || base::starts_with(device, "MIG-");
}

/// Where ours may be: what is recorded, which in /etc outlives a boot, and what a record that was lost would have.
std::set<std::string> known_paths(const Root& host) {
    std::set<std::string> paths;
    for (const CdiMode& mode : cdi_modes())
        paths.insert(path_of(volatile_directory, mode));
    const auto record = read_cdi_record(host);
    for (const auto& entry : record ? record->files : std::map<std::string, std::string>())
        paths.insert(entry.first);
    return paths;
}

/// Whether it was there. An error where a file can't be read: it may be ours.
Result<bool> remove_ours(const Root& host, const std::string& path) {
    const auto st = host.lstat(path);
    if (!st && st.error().code != Errc::NotFound)
        return base::fail(st.error());
    if (!st || !S_ISREG(st->st_mode))
        return false;
    GPUHOST_TRY(text, host.read(path));
    if (!is_ours(text))
        return false;
    GPUHOST_CHECK(host.remove(path));
    GPUHOST_CHECK(host.sync_directory(path.substr(0, path.rfind('/'))));
    return true;
}

/// A GPU that nobody has used since the driver came has no UUID: its node is opened, so that the driver asks it. The
/// descriptors keep it awake. One that is sick takes some seconds; many of them are not waited for.
std::vector<base::UniqueFd> wake_gpus(const Root& host) {
    const auto until = std::chrono::steady_clock::now() + waking;
    std::vector<base::UniqueFd> awake;
    for (const Gpu& gpu : read_gpus(host)) {
        const std::string node = "/dev/nvidia" + std::to_string(gpu.minor);
        if (!gpu.uuid.empty() || !stat_character_device(host, node) ||
            std::chrono::steady_clock::now() > until)
            continue;
        if (auto fd = host.open_file(node, O_RDWR))
            awake.push_back(std::move(*fd));
    }
    return awake;
}

class Publisher {
  public:
    Publisher(core::StepContext& context, const std::string& directory, bool groups)
        : context_(context), host_(context.root) {
        record_.directory = directory;
        record_.groups = groups;
    }

    [[nodiscard]] CdiRecord publish() {
        const auto awake = wake_gpus(host_);
        record_.inputs = cdi_inputs(host_); // before: what changes from here on is seen by who looks again
        std::set<std::string> stale = known_paths(host_);
        for (const CdiMode& mode : cdi_modes())
            if (publish(mode))
                stale.erase(path_of(record_.directory, mode));
        for (const std::string& path : stale)
            if (const auto removed = remove_ours(host_, path); !removed) {
                say(removed.error().message);
                record_.failed = true;
            }
        if (!record_.files.empty())
            warn_of_others();
        if (const auto written = write_cdi_record(host_, record_); !written)
            context_.warn("what containers are told can't be recorded, and will be written again: " +
                          written.error().message);
        return std::move(record_);
    }

  private:
    /// Does its file stay? A host whose driver serves no GPU, or not yet, is not broken for it: its containers get none.
    bool publish(const CdiMode& mode) {
        const auto made = make(mode);
        if (!made && mode.optional && made.error().code == Errc::NotFound)
            return false;
        const std::string path = path_of(record_.directory, mode);
        if (record_.directory != volatile_directory && host_.exists(path) &&
            !is_ours(host_.read(path).value_or(std::string()))) {
            say("'" + path + "' is another program's: remove it, or set Directory=/run/cdi in section [CDI]");
            record_.files[path] = identify(host_, path); // until it has gone
            return true;
        }
        const auto written = made ? write(path, made->spec) : base::fail(made.error());
        if (written) {
            for (const std::string& problem : made->problems)
                say(problem);
            record_.failed = record_.failed || !made->problems.empty(); // NVML may answer the next time
            return true;
        }
        say(written.error().message);
        record_.failed = record_.failed || made.has_value();
        return false;
    }

    [[nodiscard]] Result<MadeSpec> make(const CdiMode& mode) const {
        GPUHOST_TRY(made, mode.make(host_, {std::nullopt, "", record_.groups}));
        const std::string libraries = driver_version(made.spec);
        const std::string loaded = base::string_or(record_.inputs, "driver", "");
        if (!libraries.empty() && libraries != loaded)
            return base::fail(Errc::Unsupported, "the driver's libraries are of " + libraries + ", and " +
                                                     loaded + " is loaded");
        if (const auto problems = spec_problems(made.spec); !problems.empty())
            return base::fail(Errc::BadContent,
                              "runtimes would refuse the specification: " + problems.front());
        return std::move(made);
    }

    Result<void> write(const std::string& path, const Spec& spec) {
        const std::string content = to_text(spec);
        const std::string text = (is_ours(content) ? "" : std::string(own_mark)) + content;
        GPUHOST_CHECK(host_.make_directories(record_.directory));
        // Docker makes a directory of a file that is not there when a container mounts it.
        if (const auto st = host_.lstat(path); st && S_ISDIR(st->st_mode))
            GPUHOST_CHECK(host_.remove(path));
        if (host_.read(path).value_or(std::string()) != text)
            GPUHOST_CHECK(host_.write_atomic(path, text));
        record_.files[path] = identify(host_, path);
        kinds_.push_back(spec.kind);
        for (const SpecDevice& device : spec.devices)
            if (!is_uuid(device.name))
                record_.devices.push_back(spec.kind + "=" + device.name);
        return {};
    }

    /// The first is the one that people are shown.
    void say(const std::string& problem) {
        if (!record_.problem.empty() || base::string_or(record_.inputs, "driver", "").empty())
            return;
        record_.problem = problem;
        context_.warn("containers get not all of the driver: " + problem);
    }

    void warn_of_others() const {
        std::set<std::string_view> own;
        for (const CdiMode& mode : cdi_modes())
            own.insert(mode.file);
        for (const std::string& sentence : other_specs(host_, record_.directory, own, kinds_))
            context_.warn(sentence);
    }

    core::StepContext& context_;
    const Root& host_;
    CdiRecord record_;
    std::vector<std::string> kinds_; ///< that it has written
};

} // namespace

CdiRecord publish_specs(core::StepContext& context, const std::string& directory, bool groups) {
    return Publisher(context, directory, groups).publish();
}

Result<std::vector<std::string>> withdraw_specs(const Root& host) {
    std::vector<std::string> paths;
    for (const std::string& path : known_paths(host)) {
        GPUHOST_TRY(was_there, remove_ours(host, path));
        if (was_there)
            paths.push_back(path);
    }
    GPUHOST_CHECK(forget_cdi_record(host));
    return paths;
}

} // namespace gpuhost::runtime
