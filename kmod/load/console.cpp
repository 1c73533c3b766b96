// SPDX-License-Identifier: Apache-2.0
#include "kmod/load/console.hpp"

#include "daemon/base/parse.hpp"

#include <cerrno>
#include <tuple>
#include <vector>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

constexpr std::string_view graphics = "/sys/class/graphics/";
constexpr std::string_view consoles = "/sys/class/vtconsole/";
/// The name of nvidia_drm's framebuffer: DRM uses the driver's name (drm_fb_helper_fill_info).
constexpr std::string_view driver_framebuffer = "nvidia-drmdrmfb";

std::vector<std::string> names(const base::Root& root, std::string_view directory) {
    return root.list(directory).value_or(std::vector<std::string>());
}

std::string line(const base::Root& root, const std::string& path) {
    return root.read_line(path).value_or(std::string());
}

std::string bind_file(const std::string& console) {
    return std::string(consoles) + console + "/bind";
}

/// Returns whether the console uses nvidia_drm's framebuffer. If there are several framebuffers, no file
/// states which one the console uses. The kernel uses the one of the adapter on which the firmware displayed
/// (boot_vga), else the one with the lowest number.
bool shows_on_driver(const base::Root& root) {
    std::string shown;
    auto rank = std::tuple(true, ~std::uint64_t{0});
    for (const std::string& name : names(root, graphics)) {
        const auto number = base::starts_with(name, "fb") ? base::parse_uint(name.substr(2)) : std::nullopt;
        if (!number)
            continue; // not a framebuffer: "fbcon"
        const std::string directory = std::string(graphics) + name;
        const auto its =
            std::tuple(line(root, directory + "/device/boot_vga") != "1", std::uint64_t{*number});
        if (its >= rank)
            continue;
        rank = its;
        shown = line(root, directory + "/name");
    }
    return shown == driver_framebuffer;
}

} // namespace

std::optional<Console> driver_console(const base::Root& root) {
    if (!shows_on_driver(root))
        return std::nullopt;
    for (const std::string& name : names(root, consoles))
        if (line(root, std::string(consoles) + name + "/name").find("frame buffer device") !=
            std::string::npos)
            return Console{name, line(root, bind_file(name)) == "1"};
    return std::nullopt;
}

int bind_console(const base::Root& root, const std::string& name, bool bound) {
    const std::string wanted = bound ? "1" : "0";
    const auto file = root.open_file(bind_file(name), O_WRONLY);
    if (!file)
        return ENOENT;
    if (::write(file->get(), wanted.data(), wanted.size()) < 0)
        return errno;
    return line(root, bind_file(name)) == wanted ? 0 : EBUSY;
}

std::string describe_console(const std::string& name) {
    return "the kernel's text console (" + name + ")";
}

} // namespace gpuhost::kmod
