# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/devices daemon/host daemon/rpc daemon/rpc/kubelet
noinst_LIBRARIES += %D%/libplugin.a
%C%_libplugin_a_CPPFLAGS = $(AM_CPPFLAGS) $(kubelet_cppflags) $(SYSTEMD_CFLAGS)
%C%_libplugin_a_SOURCES = \
    %D%/allocation.cpp \
    %D%/allocation.hpp \
    %D%/plugin.cpp \
    %D%/plugin.hpp
$(%C%_libplugin_a_OBJECTS): | $(kubelet_headers)
