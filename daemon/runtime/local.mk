# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core
noinst_LIBRARIES += %D%/libruntime.a
%C%_libruntime_a_SOURCES = \
    %D%/cdi_settings.cpp \
    %D%/cdi_settings.hpp \
    %D%/runtime_settings.cpp \
    %D%/runtime_settings.hpp \
    %D%/toolkit_settings.cpp \
    %D%/toolkit_settings.hpp
include daemon/runtime/cdi/local.mk
include daemon/runtime/configure/local.mk
include daemon/runtime/gpu/local.mk
include daemon/runtime/hook/local.mk
include daemon/runtime/inspect/local.mk
include daemon/runtime/toml/local.mk
include daemon/runtime/toolkit/local.mk
