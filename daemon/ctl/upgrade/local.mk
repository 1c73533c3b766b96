# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/ctl/bundle daemon/ctl/cli daemon/ctl/cluster daemon/ctl/host
#   images/bundle
daemon_ctl_libctl_a_SOURCES += \
    %D%/choice.cpp \
    %D%/choice.hpp \
    %D%/dry_run.cpp \
    %D%/import.cpp \
    %D%/input.cpp \
    %D%/input.hpp \
    %D%/options.hpp \
    %D%/outcome.cpp \
    %D%/outcome.hpp \
    %D%/requests.cpp \
    %D%/upgrade.cpp \
    %D%/upgrade.hpp \
    %D%/verb.cpp
