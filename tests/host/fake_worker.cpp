// SPDX-License-Identifier: Apache-2.0
// gpuhost-worker as it is, but for two things: the kernel is played on a tree
// (tests/support/fake_loader.cpp), and at each gate it asks the test what to do, if one listens at
// /fake-worker/gate in its root.
//
// A gate is before and after each phase of each step. Sent: "apply modules.converge before PID\n". Answered:
//   go          goes on
//   error CODE  this phase fails with that error
// No answer, the connection closed or two minutes over: it dies there. To be killed there is the test's
// business.
#include "daemon/base/parse.hpp"
#include "daemon/host/worker/worker.hpp"
#include "daemon/programs/components.hpp"
#include "kmod/load/loader.hpp"
#include "kmod/module/kernel_state.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace gpuhost {
namespace {

using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

base::UniqueFd connect_to_test(const base::Root& root) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = root.host_path("/fake-worker/gate");
    if (path.size() >= sizeof(address.sun_path))
        std::abort();
    std::memcpy(address.sun_path, path.c_str(), path.size());
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{120, 0}; // longer than what a test does while a worker stands there
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        std::abort();
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        fd.reset();
    return fd;
}

Result<void> gate(const StepContext& context, const std::string& where) {
    const base::UniqueFd test = connect_to_test(context.root);
    if (!test)
        return {};
    if (!base::write_all(test.get(), where + " " + std::to_string(::getpid()) + "\n", "gate"))
        std::_Exit(1);
    const auto answer = base::read_all(test.get(), 100, "gate").value_or("");
    const auto words = base::split_words(answer);
    if (words.empty())
        std::_Exit(1);
    if (words[0] == "error")
        return base::fail(base::errc_from_name(words.at(1)), "the test wants it to fail at " + where);
    return {};
}

/// The phase between its two gates.
template <class Value, class Phase>
auto gated(const std::string& where, Phase phase) {
    return [where, phase = std::move(phase)](StepContext& context, const Json& args) -> Result<Value> {
        GPUHOST_CHECK(gate(context, where + " before"));
        auto result = phase(context, args);
        if (result)
            GPUHOST_CHECK(gate(context, where + " after"));
        return result;
    };
}

core::StepCodes with_gates(const core::StepCodes& codes) {
    core::StepCodes gated_codes;
    for (core::StepCode code : codes.all()) {
        if (code.preflight)
            code.preflight = gated<std::vector<Problem>>("preflight " + code.name, std::move(code.preflight));
        if (code.apply)
            code.apply = gated<Json>("apply " + code.name, std::move(code.apply));
        if (code.undo)
            code.undo = gated<void>("undo " + code.name, std::move(code.undo));
        gated_codes.add(std::move(code));
    }
    return gated_codes;
}

/// What udev does at boot: loads what the module directory of this kernel holds, in whatever order it takes.
int boot(const std::string& directory) {
    const auto root = base::Root::open(directory);
    const auto kernel = root ? kmod::kernel_release(*root) : base::fail(root.error());
    if (!kernel)
        return 1;
    const std::string modules = "/lib/modules/" + *kernel + "/updates/gpuhost";
    const auto loader = kmod::make_module_loader(*root);
    const auto names = root->list(modules).value_or(std::vector<std::string>());
    for (std::size_t round = 0; round < names.size(); ++round)
        for (const std::string& name : names)
            if (base::ends_with(name, ".ko"))
                (void)loader->load(modules + "/" + name, "");
    return 0;
}

} // namespace
} // namespace gpuhost

int main(int argc, char* argv[]) {
    const std::string_view root_option = "--root=";
    if (argc == 3 && std::string_view(argv[1]) == "--boot" &&
        gpuhost::base::starts_with(argv[2], root_option))
        return gpuhost::boot(argv[2] + root_option.size());
    return gpuhost::host::worker_main(gpuhost::with_gates(gpuhost::step_code()), argc, argv);
}
