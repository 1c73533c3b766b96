# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/devices daemon/runtime/cdi daemon/runtime/gpu
noinst_LIBRARIES += %D%/libpublish.a
%C%_libpublish_a_SOURCES = \
    %D%/component.cpp \
    %D%/component.hpp \
    %D%/config_file.cpp \
    %D%/config_file.hpp \
    %D%/devices_settings.cpp \
    %D%/devices_settings.hpp \
    %D%/documents.cpp \
    %D%/documents.hpp \
    %D%/mark_steps.cpp \
    %D%/mark_steps.hpp \
    %D%/marks.cpp \
    %D%/marks.hpp \
    %D%/offer_files.cpp \
    %D%/offer_files.hpp \
    %D%/other_servers.cpp \
    %D%/other_servers.hpp \
    %D%/plugin_config.cpp \
    %D%/plugin_config.hpp \
    %D%/plugin_fields.cpp \
    %D%/plugin_fields.hpp \
    %D%/present_gpus.cpp \
    %D%/present_gpus.hpp \
    %D%/state.cpp \
    %D%/state.hpp \
    %D%/steps.cpp \
    %D%/steps.hpp
