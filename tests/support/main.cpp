// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <gmock/gmock.h>

namespace {

using namespace gpuhost::tests;

std::unique_ptr<testing::TestEventListener> make_printer(Format format, const CmockaEnv& environment) {
    switch (format) {
    case Format::Tap:
        return make_tap_printer();
    case Format::Xml:
        return make_xml_printer(environment.xml_file);
    case Format::Subunit:
        return make_subunit_printer();
    case Format::Standard:
        break;
    }
    return make_standard_printer();
}

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    const auto environment = cmocka_env();
    if (const auto filter = gtest_filter(environment.test_filter, environment.skip_filter); !filter.empty())
        testing::GTEST_FLAG(filter) = filter;

    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (!environment.formats.empty())
        delete listeners.Release(listeners.default_result_printer());
    for (const auto format : environment.formats)
        listeners.Append(make_printer(format, environment).release());
    return RUN_ALL_TESTS();
}
