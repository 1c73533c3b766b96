# SPDX-License-Identifier: Apache-2.0
# A main() for GoogleTest programs that reads cmocka's environment, and helpers for tests of several
# subsystems.
check_LIBRARIES += %D%/libtestmain.a
%C%_libtestmain_a_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
%C%_libtestmain_a_SOURCES = \
    %D%/cmocka_env.cpp \
    %D%/cmocka_env.hpp \
    %D%/eventually.hpp \
    %D%/main.cpp \
    %D%/printer.cpp \
    %D%/printer.hpp \
    %D%/printer_standard.cpp \
    %D%/printer_subunit.cpp \
    %D%/printer_tap.cpp \
    %D%/printer_xml.cpp \
    %D%/tmpdir.cpp \
    %D%/tmpdir.hpp

# Archives, ELF files and certificates, valid and hostile, for tests of several subsystems.
check_LIBRARIES += %D%/libtestinputs.a
%C%_libtestinputs_a_CPPFLAGS = $(AM_CPPFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
%C%_libtestinputs_a_SOURCES = \
    %D%/archives.cpp \
    %D%/archives.hpp \
    %D%/efi_program.hpp \
    %D%/elf_images.cpp \
    %D%/elf_images.hpp \
    %D%/pki.cpp \
    %D%/pki.hpp
test_inputs = %D%/libtestinputs.a

test_cppflags = $(AM_CPPFLAGS) $(GTEST_CFLAGS) $(SYSTEMD_CFLAGS) $(KMOD_CFLAGS) $(ARCHIVE_CFLAGS) $(CRYPTO_CFLAGS)
test_libs = %D%/libtestmain.a $(GTEST_LIBS)

# The library's own test: the same tests with GoogleTest and with cmocka.
check_PROGRAMS += %D%/sample
%C%_sample_CPPFLAGS = $(test_cppflags)
%C%_sample_LDADD = $(test_libs)
%C%_sample_SOURCES = %D%/sample.cpp

if HAVE_CMOCKA
check_PROGRAMS += %D%/sample-cmocka
%C%_sample_cmocka_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_sample_cmocka_LDADD = $(CMOCKA_LIBS)
%C%_sample_cmocka_SOURCES = %D%/sample_cmocka.c
endif

TESTS += %D%/formats.py
EXTRA_DIST += %D%/formats.py %D%/http2_server.py
