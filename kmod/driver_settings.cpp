// SPDX-License-Identifier: Apache-2.0
#include "kmod/driver_settings.hpp"

#include "daemon/base/parse.hpp"

#include <array>

namespace gpuhost::kmod {
namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::string_view section = "Driver";

std::string key_mistake(std::string_view value) {
    return has_pin(value) ? "contains a PIN, but settings are not secret" : "";
}

constexpr std::array keys{
    SettingKey{"Driver", "Version", SettingType::DriverVersion, "", "",
               "driver version to run, preinstalled or off; empty: the selected one"},
    SettingKey{"Driver", "Flavour", SettingType::Choice, "any", "any open proprietary",
               "kind of kernel modules to use", "Flavor"},
    SettingKey{"Driver", "Modules", SettingType::Words, "nvidia nvidia_uvm nvidia_modeset nvidia_drm", "",
               "kernel modules to load"},
    SettingKey{"Driver", "ModuleParameters", SettingType::Words, "", "",
               "parameters of kernel modules, each MODULE.NAME=VALUE"},
    SettingKey{"Driver", "HolderPolicy", SettingType::Choice, "refuse", "refuse wait terminate",
               "what a swap does about processes that use the driver"},
    SettingKey{"Driver", "HolderTimeout", SettingType::Span, "10min", "", "how long HolderPolicy=wait waits"},
    SettingKey{"Driver", "TerminateGrace", SettingType::Span, "30s", "",
               "time between SIGTERM and SIGKILL of HolderPolicy=terminate"},
    SettingKey{"Driver", "ModuleDeadline", SettingType::Span, "2min", "",
               "time for one module to load or unload"},
    SettingKey{"Driver", "Validation", SettingType::Choice, "kernel", "kernel nvml cuda",
               "test that a new driver must pass"},
    SettingKey{"Driver", "BuildAtBoot", SettingType::Boolean, "yes", "",
               "build missing modules for a kernel when it boots"},
    SettingKey{"Driver", "NewKernel", SettingType::Choice, "prepare", "prepare require ignore",
               "what to do when a package installs a kernel"},
    SettingKey{"Driver", "Initramfs", SettingType::Choice, "exclude", "exclude ignore",
               "remove GPU drivers from the initramfs images of kernels"},
    SettingKey{"Driver", "Pin", SettingType::Words, "", "", "driver versions that stay in the store"},
    SettingKey{"Driver", "SigningKey", SettingType::String, "", "",
               "private key that signs the kernel modules built here", "", key_mistake},
    SettingKey{"Driver", "SigningCertificate", SettingType::String, "", "", "certificate of SigningKey="},
    SettingKey{"Driver", "SigningHash", SettingType::Choice, "sha256", "sha256 sha384 sha512",
               "hash algorithm of module signatures"},
    SettingKey{"Driver", "SigningPassphraseFile", SettingType::String, "", "",
               "file with the passphrase or PIN of SigningKey="},
    SettingKey{"Driver", "ClientUnits", SettingType::Words,
               "nvidia-persistenced.service nvidia-powerd.service nvidia-fabricmanager.service "
               "nvidia-imex.service nvidia-dcgm.service dcgm.service dcgm-exporter.service",
               "", "units that are stopped for a swap and started after it"},
};

} // namespace

bool has_pin(std::string_view key) {
    return base::starts_with(key, "pkcs11:") && key.find("pin-value") != std::string_view::npos;
}

std::span<const SettingKey> driver_setting_keys() {
    return keys;
}

DriverSettings driver_settings(const core::Settings& settings) {
    DriverSettings values;
    const std::string version = settings.string(section, "Version");
    if (version == "preinstalled")
        values.owner = DriverOwner::Preinstalled;
    else if (version == "off")
        values.owner = DriverOwner::Nobody;
    else
        values.version = version;
    values.flavour = settings.string(section, "Flavour");
    values.modules = settings.words(section, "Modules");
    values.parameters = settings.words(section, "ModuleParameters");
    values.client_units = settings.words(section, "ClientUnits");
    values.holder_policy = settings.string(section, "HolderPolicy");
    values.holder_timeout = settings.span(section, "HolderTimeout");
    values.terminate_grace = settings.span(section, "TerminateGrace");
    values.module_deadline = settings.span(section, "ModuleDeadline");
    values.build_at_boot = settings.boolean(section, "BuildAtBoot");
    values.clear_initramfs = settings.string(section, "Initramfs") == "exclude";
    values.pins = settings.words(section, "Pin");
    values.validation = settings.string(section, "Validation");
    values.signing = {settings.string(section, "SigningKey"), settings.string(section, "SigningCertificate"),
                      settings.string(section, "SigningHash"),
                      settings.string(section, "SigningPassphraseFile")};
    return values;
}

} // namespace gpuhost::kmod
