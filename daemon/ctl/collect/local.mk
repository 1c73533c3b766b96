# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/crypto daemon/core daemon/ctl/bundle daemon/ctl/cli images/bundle
#   images/create
daemon_ctl_libctl_a_SOURCES += \
    %D%/apt.cpp \
    %D%/apt.hpp \
    %D%/apt_text.cpp \
    %D%/apt_text.hpp \
    %D%/collection.cpp \
    %D%/collection.hpp \
    %D%/distribution.cpp \
    %D%/distribution.hpp \
    %D%/driver_files.cpp \
    %D%/gather.cpp \
    %D%/gather.hpp \
    %D%/images.cpp \
    %D%/options.hpp \
    %D%/packages.cpp \
    %D%/programs.cpp \
    %D%/programs.hpp \
    %D%/request.cpp \
    %D%/request.hpp \
    %D%/verb.cpp \
    %D%/view.cpp \
    %D%/view.hpp
