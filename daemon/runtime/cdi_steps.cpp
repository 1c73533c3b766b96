// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_steps.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/runtime/cdi_facts.hpp"
#include "daemon/runtime/cdi_record.hpp"
#include "daemon/runtime/character_device.hpp"
#include "daemon/runtime/spec_files.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using core::StepContext;

struct Kind {
    std::string_view file;
    Result<Spec> (*make)(const Root&, const CdiSources&);
};
constexpr std::array kinds{Kind{"nvidia.yaml", make_gpu_spec},
                           Kind{"management.nvidia.com-gpu.yaml", make_management_spec}};
constexpr std::string_view volatile_directory = "/run/cdi";
constexpr std::array<std::string_view, 2> all_directories{volatile_directory, "/etc/cdi"};

std::string path_of(std::string_view directory, const Kind& kind) {
    return std::string(directory) + "/" + std::string(kind.file);
}

/// By the hook in it, and without parsing what may be another's.
bool is_ours(const Root& host, const std::string& path) {
    return host.read(path).value_or(std::string()).find(hook_program) != std::string::npos;
}

Result<void> remove_ours(const Root& host, const std::string& path) {
    return is_ours(host, path) ? host.remove(path) : Result<void>();
}

/// Does a file say that its devices are of this kind? As far as that can be told of a stranger's file by looking.
bool speaks_of(std::string_view text, std::string_view kind) {
    for (auto at = text.find(kind); at != std::string_view::npos; at = text.find(kind, at + 1)) {
        const auto line = text.rfind('\n', at) + 1; // npos + 1 is 0
        std::string_view before = text.substr(line, at - line);
        before = before.substr(before.find("kind") == std::string_view::npos ? before.size()
                                                                             : before.find("kind"));
        const bool is_value = base::starts_with(before, "kind") &&
                              before.find_first_not_of("kind\"': ") == std::string_view::npos;
        const auto end = at + kind.size();
        if (is_value && (end == text.size() || text.find_first_of("\"' \r\n,}#", end) == end))
            return true;
    }
    return false;
}

/// Two files of one directory that have the same devices take them from all containers.
void warn_of_others(const StepContext& context, const std::string& directory) {
    const auto is_own = [](const std::string& name) {
        return std::any_of(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.file == name; });
    };
    for (const std::string& name : context.root.list(directory).value_or(std::vector<std::string>()))
        if (is_spec_file(name) && !is_own(name)) {
            const std::string path = directory + "/" + name;
            const std::string text = context.root.read(path).value_or(std::string());
            for (const std::string_view kind : {"nvidia.com/gpu", "management.nvidia.com/gpu"})
                if (speaks_of(text, kind))
                    context.warn(path + " has devices of " + std::string(kind) +
                                 " too: a name that both have no container gets. Remove it; "
                                 "'gpuhostctl cdi list' shows the names");
        }
}

/// A GPU that nobody has used since the driver came has no UUID: its node is opened, so that the driver asks it. The
/// descriptors keep it awake.
std::vector<base::UniqueFd> wake_gpus(const Root& host) {
    std::vector<base::UniqueFd> awake;
    for (const Gpu& gpu : read_gpus(host))
        if (const std::string node = "/dev/nvidia" + std::to_string(gpu.minor);
            gpu.uuid.empty() && stat_character_device(host, node))
            if (auto fd = host.open_file(node, O_RDWR))
                awake.push_back(std::move(*fd));
    return awake;
}

class Publisher {
  public:
    Publisher(StepContext& context, const Json& args) : context_(context), host_(context.root) {
        record_.directory = base::string_or(args, "directory", std::string(volatile_directory));
        record_.groups = base::bool_or(args, "groups", true);
    }

    [[nodiscard]] Result<CdiRecord> publish() {
        const auto awake = wake_gpus(host_);
        record_.inputs = cdi_inputs(host_); // before: what changes from here on is seen
        for (const Kind& kind : kinds)
            GPUHOST_CHECK(publish(kind));
        for (const std::string_view directory : all_directories)
            for (const Kind& kind : kinds)
                if (directory != record_.directory)
                    GPUHOST_CHECK(remove_ours(host_, path_of(directory, kind)));
        if (!record_.files.empty())
            warn_of_others(context_, record_.directory);
        GPUHOST_CHECK(write_cdi_record(host_, record_));
        return std::move(record_);
    }

  private:
    [[nodiscard]] Result<Spec> make(const Kind& kind) const {
        GPUHOST_TRY(spec, kind.make(host_, {std::nullopt, "", record_.groups}));
        const std::string libraries = driver_version(spec);
        const std::string loaded = base::string_or(record_.inputs, "driver", "");
        if (!libraries.empty() && libraries != loaded)
            return base::fail(Errc::Unsupported, "the driver's libraries are of " + libraries + ", and " +
                                                     loaded + " is loaded");
        return std::move(spec);
    }

    /// A host whose driver serves no GPU, or not yet, is not broken for it: its containers get none.
    Result<void> publish(const Kind& kind) {
        const std::string path = path_of(record_.directory, kind);
        const auto spec = make(kind);
        if (spec)
            return write(path, *spec);
        const base::Error& error = spec.error();
        if (error.code != Errc::NotFound && error.code != Errc::Unsupported)
            return base::fail(error);
        if (!base::string_or(record_.inputs, "driver", "").empty())
            say(error.message);
        return remove_ours(host_, path);
    }

    /// The first is the one that people are shown.
    void say(const std::string& problem) {
        if (!record_.problem.empty())
            return;
        record_.problem = problem;
        context_.warn("containers get no GPU: " + problem);
    }

    Result<void> write(const std::string& path, const Spec& spec) {
        const std::string text = to_text(spec);
        if (record_.directory != volatile_directory && host_.exists(path) && !is_ours(host_, path)) {
            say("'" + path + "' is not gpuhost's: remove it, or set Directory=/run/cdi in section [CDI]");
            record_.files[path] = identify(host_, path); // until it has gone
            return {};
        }
        GPUHOST_CHECK(host_.make_directories(record_.directory));
        if (host_.read(path).value_or(std::string()) != text)
            GPUHOST_CHECK(host_.write_atomic(path, text));
        record_.files[path] = identify(host_, path);
        for (const SpecDevice& device : spec.devices)
            if (!base::starts_with(device.name, "GPU-"))
                record_.devices.push_back(spec.kind + "=" + device.name);
        return {};
    }

    StepContext& context_;
    const Root& host_;
    CdiRecord record_;
};

Result<Json> publish(StepContext& context, const Json& args) {
    GPUHOST_TRY(record, Publisher(context, args).publish());
    return Json{{"files", record.files.size()}, {"devices", record.devices}};
}

/// What is written is read as runtimes read it.
Result<void> check_published(StepContext& context, const Json&) {
    const Root& host = context.root;
    const auto record = read_cdi_record(host);
    if (!record)
        return base::fail(Errc::Failed, "it is not known what was written for containers");
    for (const auto& entry : record->files) {
        const SpecFile file = check_spec_file(host, entry.first, host.read(entry.first));
        if (!file.is_good() && is_ours(host, entry.first))
            return base::fail(Errc::BadContent, entry.first + ": " + file.problems.front());
    }
    return {};
}

Result<Json> withdraw(StepContext& context, const Json&) {
    Json removed = Json::array();
    for (const std::string_view directory : all_directories)
        for (const Kind& kind : kinds)
            if (const std::string path = path_of(directory, kind); is_ours(context.root, path)) {
                GPUHOST_CHECK(context.root.remove(path));
                removed.push_back(path);
            }
    GPUHOST_CHECK(forget_cdi_record(context.root));
    return Json{{"files", std::move(removed)}};
}

/// No container begins with a driver of which this can't be said.
Result<void> publish_or_withdraw(StepContext& context, const Json& args) {
    const auto published = publish(context, args);
    if (published)
        return {};
    context.warn("containers get no GPU: " + published.error().message);
    GPUHOST_CHECK(withdraw(context, args));
    return {};
}

core::StepKind new_kind(const char* name) {
    core::StepKind kind;
    kind.name = name;
    kind.sandbox = core::Sandbox::Devices;
    kind.deadline = std::chrono::minutes(5); // GPUs that are woken start one after the other
    return kind;
}

} // namespace

void register_cdi_steps(core::StepKinds& all) {
    core::StepKind to_publish = new_kind("cdi.publish");
    to_publish.apply = publish;
    to_publish.verify = check_published;
    to_publish.undo = [](StepContext& context, const Json& args) -> Result<void> {
        GPUHOST_CHECK(withdraw(context, args));
        return {};
    };
    all.add(std::move(to_publish));
    core::StepKind to_withdraw = new_kind("cdi.withdraw");
    to_withdraw.apply = withdraw;
    to_withdraw.undo = publish_or_withdraw;
    all.add(std::move(to_withdraw));
}

core::Step cdi_publish_step(const CdiSettings& settings) {
    return {"cdi.publish",
            "tell containers of the driver",
            {{"directory", settings.directory}, {"groups", settings.groups}}};
}

core::Step cdi_withdraw_step(const CdiSettings& settings) {
    return {"cdi.withdraw",
            "give no container the driver",
            {{"directory", settings.directory}, {"groups", settings.groups}}};
}

core::StepsAround cdi_steps_around(const core::Settings& settings) {
    const CdiSettings cdi = cdi_settings(settings);
    if (!cdi.enable)
        return {};
    return {{cdi_withdraw_step(cdi)}, {cdi_publish_step(cdi)}};
}

} // namespace gpuhost::runtime
