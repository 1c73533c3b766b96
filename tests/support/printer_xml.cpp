// SPDX-License-Identifier: Apache-2.0
#include "tests/support/printer.hpp"

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace gpuhost::tests {
namespace {

std::string attribute(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
        case '<':
            result += "&lt;";
            break;
        case '&':
            result += "&amp;";
            break;
        case '"':
            result += "&quot;";
            break;
        default:
            result += c;
        }
    }
    return result;
}

/// Returns the text as CDATA. XML 1.0 can't represent most control characters, nor "]]>" inside of one CDATA
/// section.
std::string cdata(const std::string& text) {
    std::string result;
    for (const char c : text) {
        const bool printable = static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t';
        result += printable ? c : '?';
        if (result.ends_with("]]>"))
            result.replace(result.size() - 3, 3, "]]]]><![CDATA[>");
    }
    return "<![CDATA[" + result + "]]>";
}

std::string seconds(testing::TimeInMillis time) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(3) << static_cast<double>(time) / 1000;
    return out.str();
}

std::string failures_text(const testing::TestResult& result) {
    std::string text;
    for (const auto& failure : failures(result))
        text += (text.empty() ? "" : "\n") + failure.message + "\n" + failure.where;
    return text;
}

std::string case_xml(const testing::TestInfo& test) {
    const auto& result = *test.result();
    std::string xml = "    <testcase name=\"" + attribute(test.name()) + "\" time=\"" +
                      seconds(result.elapsed_time()) + "\" >\n";
    if (result.Failed())
        xml += "      <failure>" + cdata(failures_text(result)) + "</failure>\n";
    else if (result.Skipped())
        xml += "      <skipped/>\n";
    return xml + "    </testcase>\n";
}

std::string suite_xml(const testing::TestSuite& suite) {
    std::string xml = "  <testsuite name=\"" + attribute(suite.name()) + "\" time=\"" +
                      seconds(suite.elapsed_time()) + "\" tests=\"" +
                      std::to_string(suite.test_to_run_count()) + "\" failures=\"" +
                      std::to_string(suite.failed_test_count()) + "\" errors=\"" +
                      (suite.ad_hoc_test_result().Failed() ? "1" : "0") + "\" skipped=\"" +
                      std::to_string(suite.skipped_test_count()) + "\" >\n";
    for (int i = 0; i < suite.total_test_count(); ++i) {
        if (suite.GetTestInfo(i)->should_run())
            xml += case_xml(*suite.GetTestInfo(i));
    }
    return xml + "  </testsuite>\n";
}

class XmlPrinter : public testing::EmptyTestEventListener {
  public:
    explicit XmlPrinter(std::string file) : file_(std::move(file)) {}

    void OnTestProgramEnd(const testing::UnitTest& program) override {
        const auto group = file_.find("%g");
        std::string suites;
        for (int i = 0; i < program.total_test_suite_count(); ++i) {
            const auto& suite = *program.GetTestSuite(i);
            if (!suite.should_run())
                continue;
            if (group == std::string::npos)
                suites += suite_xml(suite);
            else
                write(std::string(file_).replace(group, 2, file_name(suite.name())), suite_xml(suite));
        }
        if (group == std::string::npos)
            write(file_, suites);
    }

  private:
    /// Replaces slashes, which the name of a parametrized suite contains.
    static std::string file_name(std::string name) {
        for (char& c : name)
            c = c == '/' ? '_' : c;
        return name;
    }

    static void write(const std::string& file, const std::string& suites) {
        const std::string xml =
            "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<testsuites>\n" + suites + "</testsuites>\n";
        if (file.empty()) {
            std::cout << xml << std::flush;
            return;
        }
        std::ofstream out(file);
        if (!(out << xml << std::flush))
            std::cerr << "cannot write '" << file << "'\n" << xml;
    }

    std::string file_;
};

} // namespace

std::unique_ptr<testing::TestEventListener> make_xml_printer(std::string file) {
    return std::make_unique<XmlPrinter>(std::move(file));
}

} // namespace gpuhost::tests
