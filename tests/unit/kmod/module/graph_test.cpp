// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "kmod/module/graph.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

LoadedModule loaded(const std::string& name, const std::vector<std::string>& holders,
                    const std::string& version = "535") {
    LoadedModule module;
    module.name = name;
    module.version = version;
    module.srcversion = version + name;
    module.holders = holders;
    module.state = "live";
    return module;
}

GoalModule wanted(const std::string& name, const std::vector<std::string>& depends,
                  const std::string& version = "535") {
    GoalModule module;
    module.name = name;
    module.version = version;
    module.srcversion = version + name;
    module.depends = depends;
    return module;
}

template <class T>
std::string names(const std::vector<T>& modules) {
    std::string text;
    for (const T& module : modules)
        text += (text.empty() ? "" : " ") + module.name;
    return text;
}

const std::vector<LoadedModule> whole_driver{
    loaded("gdrdrv", {}), loaded("nvidia", {"nvidia_uvm", "nvidia_modeset", "gdrdrv"}),
    loaded("nvidia_drm", {}), loaded("nvidia_modeset", {"nvidia_drm"}), loaded("nvidia_uvm", {})};

TEST(Graph, HoldersAreUnloadedFirst) {
    EXPECT_EQ(names(unload_order(whole_driver)), "gdrdrv nvidia_drm nvidia_modeset nvidia_uvm nvidia");
}

TEST(Graph, HoldersOfUnloadedModulesAreUnloaded) {
    EXPECT_EQ(names(to_unload(whole_driver, ModuleGoal{})),
              "gdrdrv nvidia_drm nvidia_modeset nvidia_uvm nvidia");
    ModuleGoal goal{"535",
                    {wanted("nvidia", {}), wanted("nvidia_uvm", {"nvidia"}),
                     wanted("nvidia_drm", {"nvidia_modeset"}), wanted("nvidia_modeset", {"nvidia"}, "550"),
                     wanted("gdrdrv", {"nvidia"})}};
    EXPECT_EQ(names(to_unload(whole_driver, goal)), "nvidia_drm nvidia_modeset");
}

TEST(Graph, ConvergedModulesAreKept) {
    ModuleGoal goal{"535",
                    {wanted("nvidia", {}), wanted("nvidia_uvm", {}), wanted("nvidia_drm", {}),
                     wanted("nvidia_modeset", {}), wanted("gdrdrv", {})}};
    EXPECT_TRUE(to_unload(whole_driver, goal).empty());
}

TEST(Graph, DifferentSrcversionIsADifferentModule) {
    ModuleGoal goal{"535", {wanted("nvidia_uvm", {})}};
    goal.modules[0].srcversion = "rebuilt";
    EXPECT_FALSE(is_as_wanted(loaded("nvidia_uvm", {}), goal));
}

TEST(Graph, LoadsDependenciesFirst) {
    const auto order = load_order({wanted("nvidia_drm", {"drm", "nvidia_modeset"}),
                                   wanted("nvidia_modeset", {"video", "nvidia"}), wanted("nvidia", {"drm"})});
    ASSERT_TRUE(order);
    EXPECT_EQ(names(*order), "nvidia nvidia_modeset nvidia_drm");
}

TEST(Graph, RefusesCircularDependencies) {
    EXPECT_FALSE(load_order({wanted("a", {"b"}), wanted("b", {"a"})}));
}

TEST(Graph, FindsDependenciesOutsideTheSet) {
    EXPECT_EQ(outside_dependencies({wanted("nvidia_drm", {"drm", "nvidia_modeset"}),
                                    wanted("nvidia_modeset", {"video", "drm"})}),
              (std::vector<std::string>{"drm", "video"}));
}

TEST(ModuleGoal, SplitsParametersByModule) {
    const auto parameters =
        split_parameters({"nvidia.NVreg_A=1", "nvidia-uvm.b=2", "nvidia.NVreg_C=3", "nonsense", ".x=1"});
    EXPECT_EQ(parameters.size(), 2U);
    EXPECT_EQ(parameters.at("nvidia"), "NVreg_A=1 NVreg_C=3");
    EXPECT_EQ(parameters.at("nvidia_uvm"), "b=2");
}

TEST(ModuleGoal, JsonRoundTripKeepsTheGoal) {
    ModuleGoal goal{"550", {wanted("nvidia", {"drm"}, "550")}};
    goal.modules[0].path = "/a/nvidia.ko";
    goal.modules[0].parameters = "x=1";
    goal.modules[0].optional = true;
    const ModuleGoal back = goal_from_json(to_json(goal));
    EXPECT_EQ(to_json(back), to_json(goal));
    EXPECT_EQ(back.modules[0].path, "/a/nvidia.ko");
    EXPECT_TRUE(back.modules[0].optional);
}

} // namespace
} // namespace gpuhost::kmod
