# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto
daemon_content_libcontent_a_SOURCES += \
    %D%/archive.cpp \
    %D%/archive.hpp \
    %D%/initramfs.cpp \
    %D%/initramfs.hpp \
    %D%/newc.cpp \
    %D%/newc.hpp \
    %D%/pe_sections.cpp \
    %D%/pe_sections.hpp \
    %D%/tar_writer.cpp \
    %D%/tar_writer.hpp \
    %D%/tree.cpp \
    %D%/tree.hpp \
    %D%/unified_image.cpp \
    %D%/unified_image.hpp
