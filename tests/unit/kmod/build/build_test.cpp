// SPDX-License-Identifier: Apache-2.0
// build.compile with a real make and a real compiler, on a tiny source.
#include "daemon/base/parse.hpp"
#include "kmod/build/build.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/plan/requests.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

namespace gpuhost::kmod {
namespace {

using base::Errc;

/// Builds nvidia.ko from C only. The tests need only its .modinfo.
const std::string good_makefile = R"(modules:
	@echo "  CC [M]  $(CURDIR)/nvidia/nv.o"
	printf '#define M(n,s) __attribute__((used,section(".modinfo"))) static const char n[] = s;\n' > m.c
	printf 'M(a,"name=nvidia")M(b,"version=550.163.01")M(c,"license=Dual MIT/GPL")\n' >> m.c
	printf 'M(d,"vermagic=$(KERNEL_UNAME) SMP")\n' >> m.c
	test -f $(SYSSRC)/Makefile && test -f $(SYSOUT)/Module.symvers
	test -z "$$SECRET" && test -w "$$TMPDIR"
	cc -g -c m.c -o nvidia.ko
)";

class BuildTest : public StoreTest {
  protected:
    static DriverSettings flavour(const std::string& name) {
        DriverSettings settings;
        settings.flavour = name;
        return settings;
    }
    BuildTest() { ::setenv("SECRET", "from the daemon's environment", 1); }
    ~BuildTest() override { ::unsetenv("SECRET"); }

    void headers(const std::string& release = test_kernel) { headers_of(test_kernel, release); }
    void headers_of(const std::string& kernel) { headers_of(kernel, kernel); }
    void headers_of(const std::string& kernel, const std::string& release) {
        const std::string build = "lib/modules/" + kernel + "/build/";
        directory_.write(build + "Makefile", "");
        directory_.write(build + "Module.symvers", "");
        directory_.write(build + ".config", "CONFIG_CC_VERSION_TEXT=\"cc (a test) 1\"\n");
        directory_.write(build + "include/generated/utsrelease.h",
                         "#define UTS_RELEASE \"" + release + "\"\n");
    }
    [[nodiscard]] Observed observed() const {
        Observed host;
        host.kernel = test_kernel;
        host.store = store();
        return host;
    }
    void source(const std::string& makefile) {
        ASSERT_TRUE(import({{"dkms.deb", source_package(test_version, makefile)}}));
        plan_ = build_plan(test_version, {}, false, flavour("any"), observed());
        ASSERT_EQ(plan_.steps.size(), 2U);
    }
    base::Result<base::Json> compile() { return apply("build.compile", plan_.steps[0].args); }
    std::vector<core::Problem> preflight() {
        auto made = context();
        return code("build.compile").preflight(made, plan_.steps[0].args).value();
    }
    [[nodiscard]] std::string log() const {
        return directory_.read("var/lib/gpuhost/driver/build-logs/" + test_version + "-" + test_kernel +
                               ".log");
    }
    [[nodiscard]] bool has_tools() const {
        return check_tools(root_, test_kernel, base::Root::open("/").value()).empty();
    }

    core::Plan plan_;
};

TEST_F(BuildTest, SourceBecomesAModuleSet) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    source(good_makefile);
    EXPECT_TRUE(preflight().empty());
    const auto built = compile();
    ASSERT_TRUE(built) << built.error().message << "\n" << log();
    EXPECT_EQ(root_.list(staging_).value(), std::vector<std::string>{"modules"})
        << "the scratch directory is removed";
    ASSERT_TRUE(apply("store.publish", plan_.steps[1].args));
    const Store now = store();
    const ModuleSet* set = now.modules_for(test_version, test_kernel, "open");
    ASSERT_NE(set, nullptr);
    EXPECT_EQ(set->modules[0].version, test_version);
    EXPECT_EQ(root_.read(set->path + "/nvidia.ko")->find(".debug_info"), std::string::npos) << "stripped";
    EXPECT_NE(log().find("CC [M]"), std::string::npos);
    const std::vector<core::StepKind> kinds = step_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [](const core::StepKind& one) { return one.name == "build.compile"; });
    const std::string writable = kind->writable.at(0) + "/";
    EXPECT_TRUE(base::starts_with((*built)["logs"][0].get<std::string>(), writable))
        << "allowed by its sandbox";
}

TEST_F(BuildTest, KernelsAreBuiltInParallelWithSharedJobs) {
    if (!has_tools() || ::sysconf(_SC_NPROCESSORS_ONLN) < 2)
        GTEST_SKIP() << "no compiler, or one processor";
    if (free_space(root_).value() < 2 * build_space)
        GTEST_SKIP() << "not enough disk space for two builds";
    headers();
    headers_of("6.1.0-56-amd64");
    // Each build waits until the other one started.
    const std::string meet = directory_.path("meet");
    std::string makefile = good_makefile;
    makefile.insert(makefile.find("\tprintf"),
                    "\ttouch " + meet + "-$(KERNEL_UNAME)\n\tfor i in $$(seq 100); do test $$(ls " + meet +
                        "-* | wc -l) -eq 2 && break; sleep 0.1; done; test $$(ls " + meet +
                        "-* | wc -l) -eq 2\n\ttest \"$(findstring --jobserver-auth,$(MAKEFLAGS))\"\n");
    ASSERT_TRUE(import({{"dkms.deb", source_package(test_version, makefile)}}));
    plan_ = build_plan(test_version, {test_kernel, "6.1.0-56-amd64"}, false, flavour("any"), observed());
    ASSERT_EQ(plan_.steps.size(), 2U);
    EXPECT_TRUE(preflight().empty());
    const auto built = compile();
    ASSERT_TRUE(built) << built.error().message << "\n" << log();
    EXPECT_EQ(log().find("jobserver unavailable"), std::string::npos) << log();
    ASSERT_TRUE(apply("store.publish", plan_.steps[1].args));
    for (const char* kernel : {"6.1.0-50-amd64", "6.1.0-56-amd64"})
        EXPECT_NE(store().modules_for(test_version, kernel, "open"), nullptr) << kernel;
}

TEST_F(BuildTest, FailedKernelsAreReportedEach) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    headers_of("6.1.0-56-amd64");
    headers_of("6.1.0-57-amd64");
    std::string makefile = good_makefile;
    makefile.insert(makefile.find("\tprintf"), "\ttest $(KERNEL_UNAME) = 6.1.0-56-amd64\n");
    ASSERT_TRUE(import({{"dkms.deb", source_package(test_version, makefile)}}));
    plan_ = build_plan(test_version, {test_kernel, "6.1.0-56-amd64", "6.1.0-57-amd64"}, false, flavour("any"),
                       observed());
    const auto built = compile();
    ASSERT_FALSE(built);
    for (const char* part : {"for 6.1.0-50-amd64: ", "; compiling 550.163.01 for 6.1.0-57-amd64: "})
        EXPECT_NE(built.error().message.find(part), std::string::npos) << built.error().message;
    EXPECT_EQ(built.error().message.find("6.1.0-56-amd64"), std::string::npos) << built.error().message;
}

TEST_F(BuildTest, SourceOfARunInstallerIsBuilt) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    const std::string source = " 0644 KERNEL_MODULE_SRC INHERIT_PATH_DEPTH:1";
    ASSERT_TRUE(import(
        {{"NVIDIA.run", tests::run_of(test_version,
                                      {"kernel-open/dkms.conf 0644 DKMS_CONF INHERIT_PATH_DEPTH:1",
                                       "kernel-open/Makefile" + source, "kernel-open/nvidia/nv.c" + source},
                                      {{"./kernel-open/dkms.conf", "PACKAGE_NAME=nvidia"},
                                       {"./kernel-open/Makefile", good_makefile},
                                       {"./kernel-open/nvidia/nv.c", "int nvidia;\n"}})}}));
    plan_ = build_plan(test_version, {}, false, flavour("open"), observed());
    ASSERT_EQ(plan_.steps.size(), 2U);
    const auto built = compile();
    ASSERT_TRUE(built) << built.error().message << "\n" << log();
    ASSERT_TRUE(apply("store.publish", plan_.steps[1].args));
    EXPECT_NE(store().modules_for(test_version, test_kernel, "open"), nullptr);
}

TEST_F(BuildTest, FirstCompilerErrorIsShown) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    source("modules:\n\t@printf 'int f(int);int g(void){return f();}' > nvidia/nv-pci.c; cc -c "
           "$(CURDIR)/nvidia/nv-pci.c\n");
    const auto built = compile();
    expect_error(built, Errc::Unsupported, "compiling 550.163.01 for 6.1.0-50-amd64: nvidia/nv-pci.c:1:");
    EXPECT_NE(built.error().message.find("too few arguments to function"), std::string::npos)
        << built.error().message;
    EXPECT_NE(built.error().hint.find("build-logs/550.163.01-6.1.0-50-amd64.log"), std::string::npos);
    EXPECT_NE(log().find("make: ***"), std::string::npos) << "the whole log is kept";
    EXPECT_TRUE(store().versions[0].modules.empty());
}

TEST_F(BuildTest, LogSizeIsLimited) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    source("modules:\n\t@head -c 17000000 /dev/zero | tr '\\0' x | fold -w 4000; false\n");
    EXPECT_FALSE(compile());
    const std::string text = log();
    EXPECT_LT(text.size(), (16U << 20U) + 100);
    EXPECT_TRUE(base::ends_with(text, "\nOutput truncated: the log has reached its size limit.\n"));
}

TEST_F(BuildTest, ModulesOfAnotherKernelAreRefused) {
    if (!has_tools())
        GTEST_SKIP() << "no compiler here";
    headers();
    std::string makefile = good_makefile;
    makefile.replace(makefile.find("$(KERNEL_UNAME)"), 15, "6.9.9-other");
    source(makefile);
    expect_error(compile(), Errc::BadContent, "550.163.01 for 6.9.9-other instead of");
}

TEST_F(BuildTest, ModifiedSourceIsNotBuilt) {
    headers();
    source(good_makefile);
    const std::string package =
        store().versions[0].sources[0].path + "/" + store().versions[0].sources[0].file;
    ASSERT_TRUE(root_.write_atomic(package, source_package(test_version, "modules:\n\ttouch /tmp/evil\n")));
    expect_error(compile(), Errc::BadContent, "digest mismatch");
}

TEST_F(BuildTest, PreflightNamesEverythingMissing) {
    source(good_makefile);
    const auto none = preflight();
    ASSERT_EQ(none.size(), 1U);
    EXPECT_NE(none[0].text.find("headers of kernel " + test_kernel + " not found"), std::string::npos);
    EXPECT_NE(none[0].hint.find("linux-headers-" + test_kernel), std::string::npos);
    EXPECT_NE(none[0].hint.find(": gpuhostctl driver import MODULES/*.ko."), std::string::npos);
    directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
    EXPECT_NE(preflight().at(0).hint.find(": gpuhostctl upgrade " + test_version + " MODULES/*.ko."),
              std::string::npos);
    headers("6.1.0-56-amd64");
    ASSERT_TRUE(root_.remove("/lib/modules/" + test_kernel + "/build/Module.symvers"));
    ASSERT_TRUE(root_.remove_tree(store().versions[0].sources[0].path));
    const auto problems = preflight();
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_NE(problems[0].text.find("Module.symvers not found"), std::string::npos);
    EXPECT_NE(problems[1].text.find("for kernel 6.1.0-56-amd64, not " + test_kernel), std::string::npos);
    EXPECT_EQ(problems[2].code, Errc::NotFound);
}

TEST_F(BuildTest, MissingCompilerIsNamed) {
    headers();
    EXPECT_EQ(wanted_compiler(root_, test_kernel), "cc") << "the configuration names neither gcc nor clang";
    directory_.write("lib/modules/" + test_kernel + "/build/.config",
                     "CONFIG_CC_VERSION_TEXT=\"gcc-99 (Debian) 99\"\n");
    EXPECT_EQ(wanted_compiler(root_, test_kernel), "gcc-99");
    for (const char* program : {"make", "ld", "strip", "gcc-99"}) {
        directory_.write("usr/bin/" + std::string(program), "");
        std::filesystem::permissions(directory_.path("usr/bin/" + std::string(program)),
                                     std::filesystem::perms::owner_all);
    }
    EXPECT_TRUE(check_tools(root_, test_kernel, root_).empty());
    std::filesystem::remove(directory_.path("usr/bin/gcc-99"));
    const auto problems = check_tools(root_, test_kernel, root_);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].text, "'gcc-99' is not installed");
}

} // namespace
} // namespace gpuhost::kmod
