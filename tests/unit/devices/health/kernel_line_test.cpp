// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/kernel_line.hpp"
#include "daemon/devices/health/kmsg_record.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

KernelEvent event_of(std::string_view line) {
    const auto event = parse_kernel_line(line);
    EXPECT_TRUE(event) << line;
    return event.value_or(KernelEvent());
}

TEST(KmsgRecord, HasSequenceTimeAndText) {
    const auto record =
        parse_kmsg_record("3,1234,5678901,-,caller=T1;NVRM: Xid\n SUBSYSTEM=pci\n DEVICE=+pci:0\n");
    ASSERT_TRUE(record);
    EXPECT_EQ(*record, (KmsgRecord{1234, 5678901, "NVRM: Xid"}));
}

TEST(KmsgRecord, TextBecomesPrintableAscii) {
    const auto record = parse_kmsg_record("4,1,2,-;a\\x0ab\\x5cc\\xc3\\xa4 \x01\xff\\x4 \\q \\xzz");
    ASSERT_TRUE(record);
    EXPECT_EQ(record->text, "a b\\c     \\x4 \\q \\xzz");
}

TEST(KmsgRecord, LeavesOutMessagesOfPrograms) {
    EXPECT_FALSE(parse_kmsg_record("12,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."));
    EXPECT_TRUE(parse_kmsg_record("7,1,2,-;text"));
}

TEST(KmsgRecord, RefusesOtherBytes) {
    for (const char* text :
         {"", ";", "3,1;text", "3,1,2;text", "x,1,2,-;text", "3,x,2,-;text", "3,1,-2,-;text",
          "3,1,99999999999999999999,-;text", "3,1,18446744073709551615,-;text", "3,1,2,-"})
        EXPECT_FALSE(parse_kmsg_record(text)) << text;
}

TEST(KernelLine, XidNamesTheGpu) {
    const KernelEvent event = event_of("NVRM: Xid (PCI:0000:CB:00): 79, GPU has fallen off the bus.");
    EXPECT_EQ(event.kind, KernelEventKind::error);
    EXPECT_EQ(event.address, "0000:cb:00");
    EXPECT_EQ(event.xid, 79U);
    EXPECT_EQ(event.gpu_instance, std::nullopt);
    EXPECT_EQ(event.text, "GPU has fallen off the bus.");
}

TEST(KernelLine, ProcessIsNoPartOfTheReason) {
    for (const char* process :
         {"pid=1797828, name=pt_main_thread, ", "pid='<unknown>', name=<unknown>, ", "pid=1797828, ", ""})
        EXPECT_EQ(
            event_of(std::string("NVRM: Xid (PCI:0000:cb:00): 109, ") + process + "Ch 8, errorString X").text,
            "Ch 8, errorString X")
            << process;
}

TEST(KernelLine, OlderDriversWriteNoBus) {
    EXPECT_EQ(event_of("NVRM: Xid (0000:01:00): 13, 0003 00000000").address, "0000:01:00");
    EXPECT_EQ(event_of("NVRM: Xid (PCI:0000:01:00.0): 13, x").address, "0000:01:00");
    EXPECT_EQ(event_of("NVRM: Xid (PCI:10000:e1:00): 13, x").address, "10000:e1:00");
    EXPECT_EQ(event_of("NVRM: Xid (PCI:0000:01:00): 13").text, "");
}

TEST(KernelLine, MigInstanceIsNamed) {
    const KernelEvent both =
        event_of("NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:02): 94, pid=7194, name=a, Contained: CE (0x9)");
    EXPECT_EQ(both.address, "0000:01:00");
    EXPECT_EQ(both.gpu_instance, 5U);
    EXPECT_EQ(both.compute_instance, 2U);
    EXPECT_EQ(both.text, "Contained: CE (0x9)");
    const KernelEvent one = event_of("NVRM: Xid (PCI:0000:01:00 GPU-I:13): 94, Contained");
    EXPECT_EQ(one.gpu_instance, 13U);
    EXPECT_EQ(one.compute_instance, std::nullopt);
    EXPECT_EQ(event_of("NVRM: Xid (PCI:0000:01:00 GPU-CI:02): 94, x").gpu_instance, std::nullopt);
}

TEST(KernelLine, RecoveryActionIsTheNumberAfterTo) {
    const KernelEvent reboot =
        event_of("NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 "
                 "(None) to 0x2 (Node Reboot Required)");
    EXPECT_EQ(reboot.kind, KernelEventKind::recovery);
    EXPECT_EQ(reboot.action, 2U);
    EXPECT_EQ(reboot.text, "Node Reboot Required");
    const KernelEvent none = event_of(
        "NVRM: Xid (PCI:0000:01:00): 154, pid=1, name=a to 0x2 (b), GPU recovery action changed from "
        "0x1 (GPU Reset Required) to 0x0 (None)");
    EXPECT_EQ(none.kind, KernelEventKind::recovery);
    EXPECT_EQ(none.action, 0U);
}

TEST(KernelLine, UnknownFormOfARecoveryIsAnError) {
    for (const char* text :
         {"", ", to 0x2", ", changed from 0x0 to Reboot", ", to 0x2 changed from 0x0",
          ", changed from 0x0 to 0xffffff", ", GPU recovery action changed from 0x0 (None) to 0xfffff (a)",
          ", GPU recovery action changed from 0x0 (None) to 0x2 (a) b",
          ", GPU recovery action changed from 0x0 (None) to 0x2",
          ", x GPU recovery action changed from 0x0 (None) to 0x2 (a)"}) {
        const KernelEvent event = event_of(std::string("NVRM: Xid (PCI:0000:01:00): 154") + text);
        EXPECT_EQ(event.kind, KernelEventKind::error) << text;
        EXPECT_EQ(event.xid, 154U);
    }
}

TEST(KernelLine, NvlinkErrorMayBeFatal) {
    const std::string begin = "NVRM: Xid (PCI:0000:01:00): ";
    EXPECT_TRUE(event_of(begin + "145, RLW_REMAP Fatal XC0 i0 Link 2 (0x1)").fatal);
    EXPECT_FALSE(event_of(begin + "145, RLW_REMAP Nonfatal XC0 i0 Link 2 (0x1)").fatal);
    EXPECT_FALSE(event_of(begin + "149, Non-fatal, Link 2").fatal);
    EXPECT_TRUE(event_of(begin + "74, pid=1, name=a, NVLink: fatal error detected on link 6(0x10000)").fatal);
    EXPECT_FALSE(event_of(begin + "74, pid=1, name=Fatal, NVLink: error on link 6").fatal);
    EXPECT_FALSE(event_of(begin + "13, Fatal").fatal);
}

TEST(KernelLine, LostGpuCountsAsXid79) {
    for (const char* line :
         {"NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.",
          "NVRM: GPU at PCI:0000:b3:00.0 has fallen off the bus.",
          "NVRM: The NVIDIA GPU 0000:b3:00.0 NVRM: (PCI ID: 10de:26b5) installed in this system has "
          "NVRM: fallen off the bus and is not responding to commands."}) {
        const KernelEvent event = event_of(line);
        EXPECT_EQ(event.address, "0000:b3:00") << line;
        EXPECT_EQ(event.xid, 79U);
    }
}

TEST(KernelLine, LoadOfTheDriverIsAnEvent) {
    for (const char* line :
         {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025",
          "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.45.04  Release Build"})
        EXPECT_EQ(event_of(line).kind, KernelEventKind::load) << line;
}

/// The kernel writes at most 15 bytes of a program's name, then "[PID]: segfault …", and the file's name.
TEST(KernelLine, CrashOfAProgramIsNoDriverMessage) {
    for (const char* line :
         {"NVRM: Xid ([4711]: segfault at 0 ip 0 sp 0 error 4 in 0000:06:00): 154, GPU recovery action "
          "changed from 0x2 (a) to 0x0 (None)[55d0+1000]",
          "NVRM: Xid (PCI:[4711]: segfault at 0 ip 0 sp 0 error 4 in 0000:06:00): 79, x[55d0+1000]",
          "NVRM: Xid (0000[4711]: segfault at 0 ip 0 sp 0 error 4 in 0000:06:00): 79, x[55d0+1000]",
          "NVRM: Xid ([4711] trap invalid opcode ip:0 sp:0 error:0 in PCI:0000:06:00 GPU-I:01): 48, x",
          "NVRM: GPU [4711]: segfault at 0 ip 0 sp 0 error 4 in 0000:06:00.0: GPU has fallen off the bus.",
          "NVRM: GPU at [4711]: segfault at 0 in PCI:0000:06:00.0 has fallen off the bus.",
          "NVRM: GPU 0000:[4711]: segfault at 0 in 0000:06:00.0: GPU has fallen off the bus.",
          "NVRM: loading N[4711]: segfault at 0 in NVRM: loading NVIDIA UNIX"})
        EXPECT_FALSE(parse_kernel_line(line)) << line;
}

TEST(KernelLine, NameOfAProcessChangesNothing) {
    const std::string begin = "NVRM: Xid (PCI:0000:01:00): ";
    EXPECT_FALSE(event_of(begin + "74, pid=1, name=a, Fatal, b, NVLink: error on link 6").fatal);
    EXPECT_FALSE(
        event_of(begin + "145, pid=1, name=, A Fatal XC0 i, RLW Nonfatal XC0 i0 Link 2 (0x1)").fatal);
    EXPECT_FALSE(event_of(begin + "149, pid=1, name=A Fatal XC0 i0 , Non-fatal, Link 2").fatal);
    EXPECT_TRUE(event_of(begin + "145, pid=1, name=, A Nonfatal XC, RLW Fatal XC0 i0 Link 2 (0x1)").fatal);
    EXPECT_EQ(event_of(begin + "154, pid=1, name= to 0x0 (None), x").kind, KernelEventKind::error);
    EXPECT_EQ(event_of(begin + "154, pid=1, name=a, b to 0x0 (c), GPU recovery action changed from 0x0 "
                               "(None) to 0x2 (Node Reboot Required)")
                  .action,
              2U);
}

TEST(KernelLine, IgnoresOtherLines) {
    for (const char* line : {"",
                             "NVRM:",
                             "NVRM: Xid",
                             "NVRM: Xid (",
                             "NVRM: Xid (PCI:0000:01:00)",
                             "NVRM: Xid (PCI:0000:01:00): ",
                             "NVRM: Xid (PCI:0000:01:00): abc, x",
                             "NVRM: Xid (PCI:0000:01:00): 0, x",
                             "NVRM: Xid (PCI:0000:01:00): 13x",
                             "NVRM: Xid (PCI:0000:01:00): 13,x",
                             "NVRM: Xid (PCI:0000:01:00.): 13, x",
                             "NVRM: Xid (PCI:0000:01:00 GPU-I:): 13, x",
                             "NVRM: Xid (PCI:0000:01:00 GPU-X:1): 13, x",
                             "NVRM: Xid (PCI:0000:01:00 GPU-CI:1 GPU-I:1): 13, x",
                             "NVRM: Xid (x PCI:0000:01:00): 13, x",
                             "NVRM: Xid (PCI:0000:01:00): 99999, x",
                             "NVRM: Xid (PCI:01:00): 13, x",
                             "NVRM: Xid (PCI:0000:1:00): 13, x",
                             "NVRM: Xid (PCI:0000:0g:00): 13, x",
                             "NVRM: Xid (PCI:000000000:01:00): 13, x",
                             " NVRM: Xid (PCI:0000:01:00): 13, x",
                             "trainer: NVRM: Xid (PCI:0000:01:00): 79, x",
                             "NVRM: GPU 0000:01:00.0: RmInitAdapter failed!",
                             "NVRM: GPU has fallen off the bus.",
                             "NVRM: loading kernel",
                             "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal"})
        EXPECT_FALSE(parse_kernel_line(line)) << line;
}

TEST(KernelLine, ReasonIsBoundedAndPrintable) {
    const KernelEvent event =
        event_of("NVRM: Xid (PCI:0000:01:00): 13, a\x01\xff\nb" + std::string(100000, 'x'));
    EXPECT_EQ(event.text.size(), longest_reason);
    EXPECT_EQ(event.text.substr(0, 5), "a   b");
}

} // namespace
} // namespace gpuhost::devices
