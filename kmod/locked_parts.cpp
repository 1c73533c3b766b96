// SPDX-License-Identifier: Apache-2.0
#include "kmod/locked_parts.hpp"

#include "daemon/base/mapped_file.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using core::Problem;

struct LockedPart {
    std::string_view unit;
    std::string_view program;
    std::string_view package;
};
/// nvidia-persistenced is none: it goes with every driver of its branch.
constexpr std::array parts{
    LockedPart{"nvidia-fabricmanager.service", "nv-fabricmanager", "nvidia-fabricmanager"},
    LockedPart{"nvidia-imex.service", "nvidia-imex", "nvidia-imex"}};

/// The version that a program compares the driver's with is a text in it.
bool is_of(const base::Root& root, const std::string& path, const std::string& version) {
    const auto fd = root.open_file(path, O_RDONLY);
    const auto file = fd ? base::MappedFile::open(fd->get(), path) : base::fail(fd.error());
    return file && file->view().find(version) != std::string_view::npos;
}

} // namespace

std::vector<Problem> check_locked_parts(const base::Root& root, const std::string& userland,
                                        const std::string& version, const std::vector<std::string>& units) {
    std::vector<Problem> problems;
    for (const LockedPart& part : parts) {
        if (std::find(units.begin(), units.end(), part.unit) == units.end())
            continue;
        const std::string name(part.program);
        const std::string own = userland + "/bin/" + name;
        const std::string path = !userland.empty() && root.exists(own) ? own : "/usr/bin/" + name;
        if (root.exists(path) && !is_of(root, path, version))
            problems.push_back(
                {Errc::Unsupported,
                 std::string(part.unit) + " runs '" + path + "', which is not of driver " + version +
                     " and would not start with it",
                 "import " + std::string(part.package) + " of version " + version +
                     " with the driver; or leave the unit out of ClientUnits= and see to it yourself"});
    }
    return problems;
}

} // namespace gpuhost::kmod
