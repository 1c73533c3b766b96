// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/publisher.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi/inputs.hpp"
#include "daemon/runtime/cdi/modes.hpp"
#include "daemon/runtime/cdi/other_specs.hpp"
#include "daemon/runtime/cdi/spec_files.hpp"
#include "daemon/runtime/gpu/character_device.hpp"
#include "daemon/runtime/inspect/cdi_support.hpp"

#include <set>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::Result;
using base::Root;

constexpr std::string_view volatile_directory = "/run/cdi";
constexpr std::string_view lasting_directory = "/etc/cdi";
constexpr const char* gpu_kind = "nvidia.com/gpu"; ///< needs NVML for MIG instances

std::string path_of(std::string_view directory, const CdiMode& mode) {
    return std::string(directory) + "/" + std::string(mode.file);
}

bool is_uuid(std::string_view device) {
    return base::starts_with(device, "GPU-") || base::starts_with(device, "MIG-");
}

/// Returns the paths that gpuhost's files may have: the recorded ones (files in /etc remain after a reboot)
/// and, in case the record was lost, the default ones.
std::set<std::string> known_paths(const Root& host) {
    std::set<std::string> paths;
    const auto record = read_cdi_record(host);
    for (const CdiMode& mode : cdi_modes()) {
        paths.insert(path_of(volatile_directory, mode));
        if (!record)
            paths.insert(path_of(lasting_directory, mode));
    }
    for (const auto& entry : record ? record->files : std::map<std::string, std::string>())
        paths.insert(entry.first);
    return paths;
}

/// Removes the file if it is gpuhost's, and returns true in that case. Fails if the file cannot be read,
/// because it may be gpuhost's.
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

/// Opens the nodes of GPUs without a known UUID: nothing has used them since the driver was loaded. Opening
/// makes the driver read the UUID.
void wake_gpus(const core::StepContext& context) {
    std::vector<std::string> nodes;
    for (const Gpu& gpu : read_gpus(context.root)) {
        std::string node = "/dev/nvidia" + std::to_string(gpu.minor);
        if (gpu.uuid.empty() && stat_character_device(context.root, node))
            nodes.push_back(std::move(node));
    }
    core::hold_open(context, nodes);
}

class Publisher {
  public:
    Publisher(core::StepContext& context, const CdiSettings& settings)
        : context_(context), host_(context.root), before_(read_cdi_record(context.root)) {
        record_.directory = settings.directory;
        record_.groups_setting = settings.groups;
        record_.groups = settings.groups != "no";
        if (settings.groups == "auto") {
            CdiReaders readers = find_cdi_readers(host_);
            record_.groups = readers.old.empty();
            record_.old_reader = std::move(readers.old);
            record_.programs = std::move(readers.programs);
        }
    }

    [[nodiscard]] CdiRecord publish() {
        wake_gpus(context_);
        // The inputs are read first, so that the next observation detects later changes.
        record_.inputs = cdi_inputs(host_);
        std::set<std::string> stale = known_paths(host_);
        for (const CdiMode& mode : cdi_modes())
            if (publish(mode))
                stale.erase(path_of(record_.directory, mode));
        for (const std::string& path : stale)
            if (const auto removed = remove_ours(host_, path); !removed) {
                say(removed.error().message);
                record_.failed = true;
                record_.files[path] = identify(host_, path); // recorded, so that a later run removes it
            }
        if (!record_.files.empty())
            warn_of_others();
        if (const auto written = write_cdi_record(host_, record_); !written)
            context_.warn("the CDI specifications can't be recorded, and will be written again: " +
                          written.error().message);
        return std::move(record_);
    }

  private:
    /// Writes the file of one mode. Returns true if the file must not be removed as outdated. A driver that
    /// serves no GPU (yet) is not recorded as a failure to retry. Containers then get no GPU.
    bool publish(const CdiMode& mode) {
        const auto made = make(mode);
        if (!made && mode.optional && made.error().code == Errc::NotFound)
            return false;
        const std::string path = path_of(record_.directory, mode);
        if (record_.directory != volatile_directory && is_others(path)) {
            say("'" + path +
                "' belongs to another program: remove it, or set Directory=/run/cdi in section [CDI]");
            // If the file is removed, the observation changes, and the step runs again.
            record_.files[path] = identify(host_, path);
            return true;
        }
        const bool is_cut_short = made ? !made->problems.empty() : made.error().code == Errc::Failed;
        if (mode.make == make_gpu_spec && is_cut_short && is_still_right(path)) {
            say(made ? made->problems.front() : made.error().message);
            keep(path);
            return true;
        }
        const auto written = made ? write(path, made->spec) : base::fail(made.error());
        if (written) {
            for (const std::string& problem : made->problems)
                say(problem);
            record_.failed = record_.failed || !made->problems.empty(); // NVML may answer on a retry
            record_.whole = record_.whole || (mode.make == make_gpu_spec && made->problems.empty());
            return true;
        }
        say(written.error().message);
        record_.failed = record_.failed || made.has_value() || made.error().code == Errc::Failed;
        return false;
    }

    [[nodiscard]] bool is_others(const std::string& path) const {
        const auto st = host_.lstat(path);
        return st && !S_ISDIR(st->st_mode) && !is_ours(host_.read(path).value_or(std::string()));
    }

    /// Returns true if the file from the last run is complete and unmodified, and its inputs have not
    /// changed. Such a file stays when NVML does not answer.
    [[nodiscard]] bool is_still_right(const std::string& path) const {
        if (!before_ || !before_->whole || before_->directory != record_.directory ||
            before_->groups != record_.groups)
            return false;
        const auto file = before_->files.find(path);
        const auto is_same = [&](const char* input) {
            return base::member(before_->inputs, input) == base::member(record_.inputs, input);
        };
        return file != before_->files.end() && file->second == identify(host_, path) && is_same("driver") &&
               is_same("userland") && is_same("libraries") && is_same("gpus") && is_same("instances") &&
               is_same("nodes");
    }

    void keep(const std::string& path) {
        record_.files[path] = identify(host_, path);
        record_.failed = record_.whole = true;
        for (const std::string& device : before_->devices)
            if (base::starts_with(device, std::string(gpu_kind) + "="))
                record_.devices.push_back(device);
        kinds_.emplace_back(gpu_kind);
        if (!reads_cdi(record_.version, before_->version))
            record_.version = before_->version;
    }

    [[nodiscard]] Result<MadeSpec> make(const CdiMode& mode) const {
        GPUHOST_TRY(made, mode.make(host_, {std::nullopt, "", record_.groups}));
        const std::string libraries = driver_version(made.spec);
        const std::string loaded = base::string_or(record_.inputs, "driver", "");
        if (!libraries.empty() && libraries != loaded)
            return base::fail(Errc::Unsupported, "the driver's libraries have version " + libraries +
                                                     ", but " + loaded + " is loaded");
        if (const auto problems = spec_problems(made.spec); !problems.empty())
            return base::fail(Errc::BadContent,
                              "runtimes would refuse the specification: " + problems.front());
        return std::move(made);
    }

    Result<void> write(const std::string& path, const Spec& spec) {
        const std::string content = to_text(spec);
        const std::string text = (is_ours(content) ? "" : std::string(own_mark)) + content;
        GPUHOST_CHECK(host_.make_directories(record_.directory));
        // Docker creates a directory if a container mounts a file that does not exist.
        if (const auto st = host_.lstat(path); st && S_ISDIR(st->st_mode))
            GPUHOST_CHECK(host_.remove(path));
        if (host_.read(path).value_or(std::string()) != text)
            GPUHOST_CHECK(host_.write_atomic(path, text));
        record_.files[path] = identify(host_, path);
        kinds_.push_back(spec.kind);
        if (!reads_cdi(record_.version, spec.version))
            record_.version = spec.version;
        for (const SpecDevice& device : spec.devices)
            if (!is_uuid(device.name))
                record_.devices.push_back(spec.kind + "=" + device.name);
        return {};
    }

    /// Warns of the first problem, and stores it in the record.
    void say(const std::string& problem) {
        if (!record_.problem.empty() || base::string_or(record_.inputs, "driver", "").empty())
            return;
        record_.problem = problem;
        context_.warn("containers do not get the complete driver: " + problem);
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
    std::optional<CdiRecord> before_;
    CdiRecord record_;
    std::vector<std::string> kinds_; ///< kinds written so far
};

} // namespace

CdiRecord publish_specs(core::StepContext& context, const CdiSettings& settings) {
    return Publisher(context, settings).publish();
}

std::vector<std::string> unrecorded_paths(const Root& host) {
    std::vector<std::string> found;
    if (read_cdi_record(host))
        return found;
    for (const std::string& path : known_paths(host))
        if (host.lstat(path))
            found.push_back(path);
    return found;
}

Result<std::vector<std::string>> withdraw_specs(const Root& host) {
    std::vector<std::string> paths;
    for (const std::string& path : known_paths(host)) {
        GPUHOST_TRY(was_there, remove_ours(host, path));
        if (was_there)
            paths.push_back(path);
    }
    GPUHOST_CHECK(write_cdi_record(host, {})); // an empty record shows that no remaining file is gpuhost's
    return paths;
}

} // namespace gpuhost::runtime
