# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/crypto
daemon_content_libcontent_a_SOURCES += \
    %D%/deb.cpp \
    %D%/deb.hpp \
    %D%/makeself.cpp \
    %D%/makeself.hpp \
    %D%/makeself_sums.cpp \
    %D%/nvidia_run.cpp \
    %D%/nvidia_run.hpp \
    %D%/package.cpp \
    %D%/package.hpp \
    %D%/rpm.cpp \
    %D%/rpm.hpp \
    %D%/run_manifest.cpp \
    %D%/run_manifest.hpp
