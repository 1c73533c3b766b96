# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/node daemon/core daemon/devices/publish daemon/runtime images images/host kmod
noinst_LIBRARIES += %D%/libsettings.a
%C%_libsettings_a_SOURCES = \
    %D%/all_settings.cpp \
    %D%/all_settings.hpp
